package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestAnUnknownWorkloadIsRefusedWithTheOneThatWasMeant(t *testing.T) {
	h := newHarness(t)
	status, body, _ := h.do(operatorToken, http.MethodPut, "/jobs/a", "application/yaml",
		"apiVersion: scimesh.dev/v1\nkind: Job\nmetadata: {name: a}\nspec: {workload: similarty-search, input: {sha256: "+digestOf("x")+"}}\n")
	if status != http.StatusBadRequest || !strings.Contains(body, "did you mean similarity-search?") || !strings.Contains(body, "spec.workload") {
		t.Errorf("status %d: %s", status, body)
	}
}
