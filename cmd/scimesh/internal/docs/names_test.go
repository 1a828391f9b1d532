package docs

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"sigs.k8s.io/yaml"

	"scimesh.dev/scimesh/api"
	"scimesh.dev/scimesh/api/server"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/cmd/scimesh/internal/cli"
	"scimesh.dev/scimesh/reconcile"
	"scimesh.dev/scimesh/store"
)

// set is a set of names.
type set map[string]bool

// same reports names that are in one of code and docs alone.
func same(t *testing.T, what string, code, described set) {
	t.Helper()
	if len(code) == 0 {
		t.Errorf("%s: none found in the code", what)
	}
	for _, name := range slices.Sorted(maps.Keys(code)) {
		if !described[name] {
			t.Errorf("%s %s is not described", what, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(described)) {
		if !code[name] {
			t.Errorf("%s %s is described but does not exist", what, name)
		}
	}
}

// found are all matches of the pattern's first group in the pages.
func found(ps []page, pattern *regexp.Regexp) set {
	out := set{}
	for _, p := range ps {
		for _, m := range pattern.FindAllStringSubmatch(p.text(), -1) {
			out[m[1]] = true
		}
	}
	return out
}

var (
	envInCode = regexp.MustCompile(`"((?:COORDINATOR|SCIMESH)_[A-Z_]*[A-Z]|DATABASE_URL)"`)
	// secretInCode is a setting that can be read from a file too.
	secretInCode = regexp.MustCompile(`\.Secret\([^)]*"([A-Z_]+)"\)`)
	envInDocs    = regexp.MustCompile(`\b((?:COORDINATOR|SCIMESH)_[A-Z_]*[A-Z]|DATABASE_URL(?:_FILE)?)\b`)
)

func TestEnvironmentVariablesAreDescribed(t *testing.T) {
	code := set{}
	for _, dir := range []string{"cmd", "worker", "api", "store", "controllers"} {
		eachSource(t, filepath.Join(root, dir), func(text string) {
			for _, m := range envInCode.FindAllStringSubmatch(text, -1) {
				code[m[1]] = true
			}
			for _, m := range secretInCode.FindAllStringSubmatch(text, -1) {
				code[m[1]+"_FILE"] = true
			}
		})
	}
	// The Python worker's are all in its command.
	command, err := os.ReadFile(filepath.Join(root, "python", "src", "scimesh_worker", "cli.py"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range envInCode.FindAllStringSubmatch(string(command), -1) {
		code[m[1]] = true
	}
	same(t, "variable", code, found(docs(t), envInDocs))
}

// eachSource visits the Go files below dir that are part of the program.
func eachSource(t *testing.T, dir string, visit func(text string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil {
			visit(string(raw))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	metricName   = regexp.MustCompile(`fqName: "([^"]+)"`)
	metricInDocs = regexp.MustCompile("`(scimesh_[a-z_]+)`")
)

// noQueue is never read: descriptions need no database.
type noQueue struct{}

func (noQueue) QueueStats(context.Context) (store.QueueStats, error) {
	return store.QueueStats{}, errors.New("there is no queue")
}

func TestMetricsAreDescribed(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := reconcile.NewMetrics(registry); err != nil {
		t.Fatal(err)
	}
	if _, err := server.New(server.Config{OperatorToken: "unused"}, server.Deps{Metrics: registry}); err != nil {
		t.Fatal(err)
	}
	registry.MustRegister(cli.NewQueueMetrics(noQueue{}, 0, zap.NewNop()))
	descriptions := make(chan *prometheus.Desc)
	go func() {
		registry.Describe(descriptions)
		close(descriptions)
	}()
	code := set{}
	for d := range descriptions {
		code[metricName.FindStringSubmatch(d.String())[1]] = true
	}
	described := found(docs(t), metricInDocs)
	delete(described, "scimesh_jobs") // the channel of notifications
	same(t, "metric", code, described)
}

var endpointInDocs = regexp.MustCompile("`((?:GET|PUT|POST|DELETE) /[^` ?]*)")

func TestEndpointsAreDescribed(t *testing.T) {
	var contract struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := yaml.Unmarshal(api.OpenAPI, &contract); err != nil {
		t.Fatal(err)
	}
	code := set{}
	for path, methods := range contract.Paths {
		for method := range methods {
			if method != "parameters" {
				code[strings.ToUpper(method)+" "+path] = true
			}
		}
	}
	same(t, "endpoint", code, found([]page{readPage(t, filepath.Join(root, "docs", "api.md"))}, endpointInDocs))
}

var fieldInDocs = regexp.MustCompile("(?m)^\\| `(spec\\.[A-Za-z0-9.]+|metadata\\.[A-Za-z]+)`")

func TestJobFieldsAreDescribed(t *testing.T) {
	code := set{"metadata.name": true, "metadata.labels": true, "metadata.annotations": true}
	fieldsOf(reflect.TypeFor[v1.JobSpec](), "spec", code)
	same(t, "field", code, found([]page{readPage(t, filepath.Join(root, "docs", "jobs.md"))}, fieldInDocs))
}

// fieldsOf collects the paths of the fields of a type. Structs are looked into.
func fieldsOf(of reflect.Type, path string, out set) {
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			fieldsOf(f.Type, path, out)
			continue
		}
		if f.Type.Kind() == reflect.Struct {
			fieldsOf(f.Type, path+"."+name, out)
			continue
		}
		out[path+"."+name] = true
	}
}

func TestReasonsForWaitingAreDescribed(t *testing.T) {
	text := readPage(t, filepath.Join(root, "docs", "troubleshooting.md")).text()
	for _, reason := range v1.WhyReasons {
		if !strings.Contains(text, "`"+string(reason)+"`") {
			t.Errorf("reason %s is not described in docs/troubleshooting.md", reason)
		}
	}
}

var (
	targetInMake = regexp.MustCompile(`(?m)^([a-z-]+):`)
	targetInDocs = regexp.MustCompile("(?m)(?:`|^\\$? ?)make ([a-z-]+)")
)

func TestMakeTargetsExist(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := set{}
	for _, m := range targetInMake.FindAllStringSubmatch(string(raw), -1) {
		targets[m[1]] = true
	}
	for name := range found(pages(t), targetInDocs) {
		if !targets[name] {
			t.Errorf("make %s is described but does not exist", name)
		}
	}
}
