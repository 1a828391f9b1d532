package web

import (
	"net/http"

	v1 "scimesh.dev/scimesh/api/v1"
)

type workloadView struct {
	Name   string
	Spec   v1.WorkloadSpec
	Fields []formField
	// Problem is why there are no fields.
	Problem string
}

// workloadList shows what can be computed.
func (d *Dashboard) workloadList(w http.ResponseWriter, r *http.Request) error {
	var list []workloadView
	for _, name := range d.workloads.Names() {
		load, _ := d.workloads.Get(name)
		list = append(list, workloadView{Name: name, Spec: load.Describe()})
	}
	return d.render(w, r, "workloads", page{Title: "Workloads", Section: "workloads", Data: list})
}

// workload shows what one computation takes and gives.
func (d *Dashboard) workload(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	load, ok := d.workloads.Get(name)
	if !ok {
		return notFound("workload", name)
	}
	spec := load.Describe()
	view := workloadView{Name: name, Spec: spec}
	var err error
	if view.Fields, err = formFields(spec.ParametersSchema); err != nil {
		view.Problem = noForm
	}
	return d.render(w, r, "workload", page{Title: name, Section: "workloads", Data: view})
}
