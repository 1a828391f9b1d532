// Package arrows holds the test of which package may import which.
package arrows

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "scimesh.dev/scimesh/"

// allowed names, for each folder, the other folders of this table that its
// packages may import. A package belongs to the longest folder that holds it;
// "*" allows everything.
var allowed = map[string][]string{
	"cmd":  {"*"},
	"hack": {"*"},

	"api":        {},
	"api/v1":     {},
	"api/wire":   {"api/v1"},
	"api/client": {"api/v1", "api/wire"},
	"api/server": {"api", "api/v1", "api/wire", "store", "artifacts", "workloads"},

	"reconcile":   {},
	"controllers": {"reconcile", "store", "artifacts", "workloads", "api/v1"},

	"store":           {"api/v1", "migrations"},
	"store/pgcluster": {},
	"migrations":      {},
	"artifacts":       {},

	"worker":    {"api/client", "api/v1", "api/wire", "workloads"},
	"workloads": {"chem", "api/v1"},
	"chem":      {},
	"web":       {"api/v1", "store", "artifacts", "workloads"},
}

// strangers names folders whose packages hold one thing each and do not know one
// another, apart from what they share. They meet in the database, and in the
// folder itself, which wires them.
var strangers = map[string]struct{ shared []string }{
	"controllers": {shared: []string{"controllers/jobstep", "controllers/blobfiles"}},
}

// drivers are modules that belong to one place.
var drivers = map[string][]string{
	"github.com/jackc/pgx":            {"store", "hack"},
	"github.com/golang-migrate":       {"store", "hack"},
	"database/sql":                    {"store", "hack"},
	"github.com/minio/minio-go":       {"artifacts"},
	"k8s.io/client-go/util/workqueue": {"reconcile"},
	"github.com/spf13/cobra":          {"cmd"},
}

// chemOutside are the only packages outside the standard library that chem may import.
var chemOutside = []string{"golang.org/x/sys/cpu"}

type pkg struct {
	ImportPath string
	Imports    []string
}

// packages lists the packages of the module, without their tests.
func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal("go list:", err)
	}
	var list []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal("go list:", err)
		}
		list = append(list, p)
	}
	if len(list) < 10 {
		t.Fatalf("go list found %d packages, and there are more", len(list))
	}
	return list
}

// inside reports whether the path of a package lies in a folder.
func inside(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func insideAny(path string, folders []string) bool {
	for _, folder := range folders {
		if inside(path, folder) {
			return true
		}
	}
	return false
}

// ruleFor returns the longest folder with a rule that covers the package.
func ruleFor(path string) (folder string, ok bool) {
	for candidate := range allowed {
		if inside(path, candidate) && len(candidate) >= len(folder) {
			folder, ok = candidate, true
		}
	}
	return folder, ok
}

// violation says why a package may not import another, or "".
func violation(from, to string) string {
	if path, ok := strings.CutPrefix(to, module); ok {
		return violationInside(from, path)
	}
	for driver, homes := range drivers {
		if inside(to, driver) && !insideAny(from, homes) {
			return "that module is for " + strings.Join(homes, ", ") + " alone"
		}
	}
	if inside(from, "chem") && strings.Contains(strings.Split(to, "/")[0], ".") && !insideAny(to, chemOutside) {
		return "chem imports the standard library and golang.org/x/sys/cpu alone"
	}
	return ""
}

func violationInside(from, to string) string {
	folder, ok := ruleFor(from)
	if !ok {
		return "the folder has no rule in the table"
	}
	for parent, rule := range strangers {
		if from != parent && to != parent && inside(from, parent) && inside(to, parent) &&
			!insideAny(to, rule.shared) && !sameChild(from, to, parent) {
			return "packages in " + parent + " do not know one another"
		}
	}
	target, _ := ruleFor(to)
	if target == folder || slices.Contains(allowed[folder], target) || slices.Contains(allowed[folder], "*") {
		return ""
	}
	return folder + " may import " + strings.Join(allowed[folder], ", ") + " alone"
}

// sameChild reports whether two packages lie in one folder directly under parent.
func sameChild(a, b, parent string) bool {
	child := func(p string) string { return strings.Split(strings.TrimPrefix(p, parent+"/"), "/")[0] }
	return child(a) == child(b)
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		if _, ok := ruleFor(from); !ok {
			t.Errorf("%s: the folder has no rule in the table", from)
		}
		for _, to := range p.Imports {
			if why := violation(from, to); why != "" {
				t.Errorf("%s imports %s: %s", from, to, why)
			}
		}
	}
}

func TestViolationsAreFound(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		wantBad  bool
	}{
		{"cmd/scimesh", module + "controllers/planner", false},
		{"controllers/planner", module + "store", false},
		{"controllers/planner", module + "controllers/jobstep", false},
		{"controllers/planner", module + "controllers/reducer", true},
		{"controllers", module + "controllers/reducer", false},
		{"controllers/planner", module + "api/server", true},
		{"reconcile", module + "store", true},
		{"reconcile", "k8s.io/client-go/util/workqueue", false},
		{"controllers/planner", "k8s.io/client-go/util/workqueue", true},
		{"chem/morgan", module + "chem/mol", false},
		{"chem/morgan", module + "workloads", true},
		{"chem/tanimoto", "golang.org/x/sys/cpu", false},
		{"chem/tanimoto", "golang.org/x/sys/unix", true},
		{"chem/tanimoto", "math/bits", false},
		{"api/v1", module + "api", true},
		{"api/server", module + "controllers/planner", true},
		{"worker", module + "store", true},
		{"web", module + "store", false},
		{"web", module + "api/server", true},
		{"web", "github.com/jackc/pgx/v5", true},
		{"api/server", module + "web", true},
		{"controllers/planner", module + "web", true},
		{"worker", module + "artifacts", true},
		{"store", module + "store/migrate", false},
		{"api/server", module + "api/client", true},
		{"api/server", "github.com/jackc/pgx/v5", true},
		{"store", "github.com/jackc/pgx/v5/pgxpool", false},
		{"util", module + "store", true},
	} {
		if got := violation(tc.from, tc.to); (got != "") != tc.wantBad {
			t.Errorf("%s imports %s: got %q, want a violation: %t", tc.from, tc.to, got, tc.wantBad)
		}
	}
}
