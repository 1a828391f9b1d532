package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/store"
)

// newView is the form of a new computation, empty or with what was filled in.
type newView struct {
	Workloads   []string
	Workload    string
	Description string
	Accepts     []string
	Name        formField
	Labels      formField
	Input       formField // its value is the id of an artifact
	Inputs      []store.Artifact
	Layout      []formField
	Parameters  []formField
	Limits      []formField
	// Problems are those that belong to no field.
	Problems []string

	// Checked is true if the coordinator would take the Job; then Manifest is
	// what `scimesh apply` would take, and Price what it takes.
	Checked  bool
	Manifest string
	Price    *price
}

// maxInputs is how many uploaded inputs the form offers.
const maxInputs = 50

// newPage shows the form; with "from" as another Job was filled in.
func (d *Dashboard) newPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	var old *store.Job
	if from := q.Get("from"); from != "" {
		j, err := d.findJob(r.Context(), from)
		if err != nil {
			return err
		}
		old = &j
	}
	workload := q.Get("workload")
	if old != nil {
		workload = old.Spec.Workload
	}
	view := d.emptyForm(workload)
	if artifact := q.Get("artifact"); artifact != "" {
		view.Input.Value = artifact
	}
	if old != nil {
		view.fillFrom(*old)
	}
	if err := d.loadInputs(r.Context(), &view); err != nil {
		return err
	}
	return d.renderNew(w, r, view)
}

func (d *Dashboard) renderNew(w http.ResponseWriter, r *http.Request, view newView) error {
	return d.render(w, r, "new", page{Title: "New computation", Section: "new", Data: view})
}

// emptyForm is the form of a workload; of the first one if there is none of that name.
func (d *Dashboard) emptyForm(workload string) newView {
	names := d.workloads.Names()
	if !slices.Contains(names, workload) && len(names) > 0 {
		workload = names[0]
	}
	view := newView{Workloads: names, Workload: workload, Layout: layoutFields(), Limits: limitFields(),
		Name:   formField{Name: "name", Title: "Name", Value: newName(workload), Description: "A DNS label: lower-case letters, digits and hyphens."},
		Labels: formField{Name: "labels", Title: "Labels", Description: "For finding it again: key=value, separated by commas."},
		Input:  formField{Name: "artifact", Title: "Input"},
	}
	load, ok := d.workloads.Get(workload)
	if !ok {
		return view
	}
	spec := load.Describe()
	view.Description, view.Accepts = spec.Description, spec.Inputs
	var err error
	if view.Parameters, err = formFields(spec.ParametersSchema); err != nil {
		view.Problems = append(view.Problems, noForm)
	}
	for i := range view.Parameters {
		view.Parameters[i].Value = view.Parameters[i].Default
	}
	return view
}

// noForm is said of a workload whose schema, which a worker may have written, is
// beyond a form.
const noForm = "The parameters of this workload cannot be shown as a form: use scimesh apply."

// limitFields are the fields of a Job's spec that belong to no workload.
func limitFields() []formField {
	return []formField{
		{Name: "sharding.rows", Title: "Rows in a task", Kind: "number", Default: strconv.Itoa(v1.DefaultShardRows), Value: strconv.Itoa(v1.DefaultShardRows), Min: "1"},
		{Name: "maxAttempts", Title: "Attempts of a task", Kind: "number", Default: strconv.Itoa(v1.DefaultMaxAttempts), Value: strconv.Itoa(v1.DefaultMaxAttempts), Min: "1"},
		{Name: "priority", Title: "Priority", Kind: "number", Default: "0", Value: "0", Description: "Higher goes first."},
		{Name: "parallelism", Title: "Tasks at once", Kind: "number", Default: "0", Value: "0", Min: "0", Description: "0 is no limit."},
	}
}

// layoutFields say how the input is written, where its data does not tell.
func layoutFields() []formField {
	return []formField{
		{Name: "input.format", Title: "Format", Kind: "choice", Choices: []string{"", "tsv", "csv", "smi", "fps"}},
		{Name: "input.idColumn", Title: "Column of ids", Description: "A name in the header, or a number from 1."},
		{Name: "input.smilesColumn", Title: "Column of SMILES", Description: "A name in the header, or a number from 1."},
	}
}

// newName is a name that is most likely free.
func newName(workload string) string {
	return strings.TrimSuffix(workload[:min(len(workload), 50)], "-") + "-" + strings.ToLower(rand.Text())[:6]
}

// fillFrom fills in what another Job says.
func (v *newView) fillFrom(j store.Job) {
	var parameters map[string]json.RawMessage
	_ = json.Unmarshal(j.Spec.Parameters, &parameters) // damaged ones leave the form empty
	for i := range v.Parameters {
		v.Parameters[i].Value = plainText(parameters[v.Parameters[i].Name])
	}
	v.Labels.Value = strings.ReplaceAll(labelText(j.Labels), ",", ", ")
	if j.Input != nil {
		v.Input.Value = j.Input.Artifact.String()
	}
	for i, text := range []string{j.Spec.Input.Format, j.Spec.Input.IDColumn, j.Spec.Input.SMILESColumn} {
		v.Layout[i].Value = text
	}
	limits := map[string]int64{
		"sharding.rows": j.Spec.Sharding.Rows, "maxAttempts": int64(j.Spec.MaxAttempts),
		"priority": int64(j.Spec.Priority), "parallelism": int64(j.Spec.Parallelism),
	}
	for i := range v.Limits {
		v.Limits[i].Value = strconv.FormatInt(limits[v.Limits[i].Name], 10)
	}
}

// loadInputs offers the newest uploads, and the one that is chosen.
func (d *Dashboard) loadInputs(ctx context.Context, v *newView) error {
	list, err := d.store.ListArtifacts(ctx, store.ArtifactFilter{Kinds: []v1.ArtifactKind{v1.ArtifactInput}}, store.Page{Limit: maxInputs})
	if err != nil {
		return err
	}
	v.Inputs = list.Items
	id, ok := idOf(v.Input.Value)
	if !ok || slices.ContainsFunc(v.Inputs, func(a store.Artifact) bool { return a.ID == id }) {
		return nil
	}
	if a, err := d.store.GetArtifact(ctx, id); err == nil {
		v.Inputs = append([]store.Artifact{a}, v.Inputs...)
	}
	return nil
}

// newSubmit checks a filled-in form, and unless only that was asked, submits it.
func (d *Dashboard) newSubmit(w http.ResponseWriter, r *http.Request) error {
	if err := parseForm(w, r); err != nil {
		return err
	}
	view := d.emptyForm(r.PostForm.Get("workload"))
	view.fillIn(r.PostForm)
	if err := d.loadInputs(r.Context(), &view); err != nil {
		return err
	}
	job := view.job()
	dryRun := r.PostForm.Get("action") != "submit"
	answer, err := d.postJob(r, job, dryRun)
	if err != nil {
		return err
	}
	if answer.created && !dryRun {
		http.Redirect(w, r, Prefix+"/jobs/"+url.PathEscape(answer.name), http.StatusSeeOther)
		return nil
	}
	view.tell(answer.faults)
	if answer.created {
		view.Checked = true
		view.Manifest = string(jobYAML(view.applied(job)))
		view.Price = d.priceOf(r.Context(), view, job)
	}
	return d.renderNew(w, r, view)
}

// fillIn takes over what the person wrote.
func (v *newView) fillIn(form url.Values) {
	v.Name.Value, v.Labels.Value, v.Input.Value = strings.TrimSpace(form.Get("name")), form.Get("labels"), form.Get("artifact")
	for i := range v.Parameters {
		v.Parameters[i].Value = form.Get("param." + v.Parameters[i].Name)
	}
	for _, fields := range [][]formField{v.Layout, v.Limits} {
		for i := range fields {
			fields[i].Value = form.Get(fields[i].Name)
		}
	}
}

// job is the Job that the form describes, with the field paths of a Job. What
// is no number stays out of its place and is told by the API.
func (v *newView) job() map[string]any {
	input := map[string]any{}
	if v.Input.Value != "" {
		input["artifact"] = v.Input.Value
	}
	for _, f := range v.Layout {
		if raw, ok := f.encode(); ok {
			input[strings.TrimPrefix(f.Name, "input.")] = raw
		}
	}
	spec := map[string]any{"workload": v.Workload, "input": input}
	parameters := map[string]json.RawMessage{}
	for _, f := range v.Parameters {
		if raw, ok := f.encode(); ok {
			parameters[f.Name] = raw
		}
	}
	spec["parameters"] = parameters
	for _, f := range v.Limits {
		raw, ok := f.encode()
		switch {
		case !ok:
		case f.Name == "sharding.rows":
			spec["sharding"] = map[string]any{"rows": raw}
		default:
			spec[f.Name] = raw
		}
	}
	return map[string]any{
		"apiVersion": v1.APIVersion, "kind": v1.KindJob,
		"metadata": map[string]any{"name": v.Name.Value, "labels": parseLabels(v.Labels.Value)}, "spec": spec,
	}
}

// parseLabels reads key=value, separated by commas. What has no = is a label without a value.
func parseLabels(text string) map[string]string {
	labels := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if key, value, _ := strings.Cut(part, "="); strings.TrimSpace(part) != "" {
			labels[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return labels
}

// applied is the Job with its input named by content, as an apply of the same
// file would, so that the manifest means the same on another coordinator.
func (v *newView) applied(job map[string]any) v1.Job {
	raw, err := json.Marshal(job)
	if err != nil {
		return v1.Job{}
	}
	m, err := v1.DecodeManifest(raw)
	if err != nil {
		return v1.Job{} // the API took it: it decodes
	}
	if a := v.chosen(); a != nil {
		m.Job.Spec.Input.Artifact, m.Job.Spec.Input.SHA256 = nil, a.SHA256
	}
	return m.Job
}

// chosen is the input that the form names, if it is known.
func (v *newView) chosen() *store.Artifact {
	id, err := uuid.Parse(v.Input.Value)
	if err != nil {
		return nil
	}
	for i := range v.Inputs {
		if v.Inputs[i].ID == id {
			return &v.Inputs[i]
		}
	}
	return nil
}

// priceOf plans the Job on trial; nil if its input is not here.
func (d *Dashboard) priceOf(ctx context.Context, v newView, job map[string]any) *price {
	a := v.chosen()
	if a == nil {
		return nil
	}
	applied := v.applied(job)
	v1.Default(&applied)
	p := d.trial(ctx, applied, artifacts.Blob{SHA256: a.SHA256, SizeBytes: a.SizeBytes})
	return &p
}
