package server

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"scimesh.dev/scimesh/api"
)

func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

func operations(t *testing.T) map[string]*openapi3.Operation {
	out := map[string]*openapi3.Operation{}
	for path, item := range document(t).Paths.Map() {
		for method, op := range item.Operations() {
			out[method+" "+path] = op
		}
	}
	return out
}

func TestRoutesAreThoseOfTheDocument(t *testing.T) {
	ops := operations(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(ops)), slices.Sorted(maps.Keys(routes))); diff != "" {
		t.Errorf("routes (-openapi.yaml +server):\n%s", diff)
	}
	for name, op := range ops {
		rt := routes[name]
		if got := roleOf(op); got != rt.role {
			t.Errorf("%s: openapi.yaml has role %d, the server %d", name, got, rt.role)
		}
		var types []string
		if op.RequestBody != nil {
			types = slices.Sorted(maps.Keys(op.RequestBody.Value.Content))
		}
		want := media[rt.body]
		if rt.body == bodyRaw {
			want = []string{"*/*"}
		}
		if diff := cmp.Diff(types, want); diff != "" {
			t.Errorf("%s: media types (-openapi.yaml +server):\n%s", name, diff)
		}
	}
}

// roleOf is the role that an operation's security asks for.
func roleOf(op *openapi3.Operation) role {
	if op.Security == nil {
		return roleOperator
	}
	need := roleNone
	for _, alternative := range *op.Security {
		if _, ok := alternative["workerToken"]; ok {
			return roleWorker
		}
		need = roleOperator
	}
	return need
}

func TestDocumentNamesEveryError(t *testing.T) {
	for name, op := range operations(t) {
		rt := routes[name]
		need := []string{"500"}
		if rt.role != roleNone {
			need = append(need, "401", "403", "429")
		}
		if rt.body != bodyNone {
			need = append(need, "400", "408", "413")
		}
		if rt.body != bodyNone && rt.body != bodyRaw {
			need = append(need, "415")
		}
		if strings.Contains(name, "/tasks/{task_id}/") {
			need = append(need, "404", "409")
		}
		for _, status := range need {
			if op.Responses.Value(status) == nil {
				t.Errorf("%s: %s is missing", name, status)
			}
		}
	}
}

func TestRequestsRefuseUnknownFields(t *testing.T) {
	var check func(path string, ref *openapi3.SchemaRef)
	check = func(path string, ref *openapi3.SchemaRef) {
		s := ref.Value
		if len(s.Properties) > 0 && (s.AdditionalProperties.Has == nil || *s.AdditionalProperties.Has) {
			t.Errorf("%s admits unknown fields", path)
		}
		for name, p := range s.Properties {
			if name != "status" { // ignored, and may have come from a later version
				check(path+"."+name, p)
			}
		}
		if s.Items != nil {
			check(path+"[]", s.Items)
		}
	}
	for name, op := range operations(t) {
		if op.RequestBody == nil {
			continue
		}
		for kind, content := range op.RequestBody.Value.Content {
			check(name+" "+kind, content.Schema)
		}
	}
}
