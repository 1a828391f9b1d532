package web

import (
	"net/http"
	"net/url"
	"slices"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

var artifactKinds = []v1.ArtifactKind{v1.ArtifactInput, v1.ArtifactShard, v1.ArtifactPartial, v1.ArtifactFinal, v1.ArtifactRejects, v1.ArtifactOutput, v1.ArtifactLog}

type artifactsView struct {
	Artifacts []store.Artifact
	Tabs      []tab
	Kind      string
	Job       string
	SHA256    string
	Next      string
	Any       bool // a filter is set
}

// artifacts lists artifacts, newest first.
func (d *Dashboard) artifacts(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	view := artifactsView{Job: q.Get("job"), SHA256: q.Get("sha256")}
	f := store.ArtifactFilter{SHA256: view.SHA256}
	if kind := v1.ArtifactKind(q.Get("kind")); slices.Contains(artifactKinds, kind) {
		f.Kinds, view.Kind = []v1.ArtifactKind{kind}, string(kind)
	}
	if view.Job != "" {
		j, err := d.findJob(r.Context(), view.Job)
		if err != nil {
			return err
		}
		f.Job = j.ID
	}
	list, err := d.store.ListArtifacts(r.Context(), f, store.Page{Limit: pageSize, Continue: q.Get("after")})
	if err != nil {
		return err
	}
	view.Artifacts, view.Any = list.Items, view.Job != "" || view.SHA256 != "" || view.Kind != ""
	at := func(kind v1.ArtifactKind, after string) string {
		values := url.Values{}
		for name, v := range map[string]string{"kind": string(kind), "job": view.Job, "sha256": view.SHA256, "after": after} {
			if v != "" {
				values.Set(name, v)
			}
		}
		if len(values) == 0 {
			return Prefix + "/artifacts"
		}
		return Prefix + "/artifacts?" + values.Encode()
	}
	view.Tabs = []tab{{Label: "all", Address: at("", ""), Current: view.Kind == "", N: -1}}
	for _, kind := range artifactKinds {
		view.Tabs = append(view.Tabs, tab{Label: kindName(kind), Address: at(kind, ""), Current: view.Kind == string(kind), N: -1})
	}
	if list.Continue != "" {
		view.Next = at(v1.ArtifactKind(view.Kind), list.Continue)
	}
	return d.render(w, r, "artifacts", page{Title: "Artifacts", Section: "artifacts", Data: view})
}

// kindName is what people call a kind of artifact.
func kindName(k v1.ArtifactKind) string {
	switch k {
	case v1.ArtifactPartial:
		return "partial result"
	case v1.ArtifactFinal:
		return "final result"
	default:
		return string(k)
	}
}

// artifact shows one artifact.
func (d *Dashboard) artifact(w http.ResponseWriter, r *http.Request) error {
	id, ok := idOf(r.PathValue("id"))
	if !ok {
		return notFound("artifact", r.PathValue("id"))
	}
	a, err := d.store.GetArtifact(r.Context(), id)
	if err != nil {
		return missing(err, "artifact", id.String())
	}
	return d.render(w, r, "artifact", page{Title: a.Filename, Section: "artifacts", Data: a})
}
