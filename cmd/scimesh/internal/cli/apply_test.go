package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestApply applies what users write, good and bad, to a real coordinator.
func TestApply(t *testing.T) {
	p := newPlatform(t)
	dir := p.folder(20)
	file := func(name, text string) string { return write(t, dir, name, text) }
	plain := func(s string) string { return strings.ReplaceAll(s, dir+string(filepath.Separator), "") }

	several := file("several.yaml", manifestOf("one")+"---\n# nothing here\n---\n"+manifestOf("two"))
	list := file("list.json", `{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"scimesh.dev/v1","kind":"Job","metadata":{"name":"three"},"spec":{"workload":"similarity-search","input":{"path":"molecules.tsv"},"parameters":{"query_smiles":"CCO"}}}]}`)
	first := p.run("apply", "-f", several, "-f", list)
	if want := "job/one created\njob/two created\njob/three created\n"; first.code != ExitOK || first.out != want {
		t.Fatalf("%+v", first)
	}
	if strings.Count(first.err, "uploading") != 1 {
		t.Errorf("the same bytes were uploaded more than once:\n%s", first.err)
	}
	if got := p.ok("apply", "-f", several, "-f", list, "-o", "name"); got != "job/one\njob/two\njob/three\n" {
		t.Errorf("-o name: %s", got)
	}

	file("several.yaml", manifestOf("one", "  priority: 7")+"---\n"+manifestOf("two"))
	if got := p.ok("apply", "-f", several); got != "job/one configured\njob/two unchanged\n" {
		t.Errorf("a priority: %s", got)
	}
	if got := p.ok("get", "job/one", "-o", "jsonpath={.spec.priority} {.spec.input.sha256}"); !strings.HasPrefix(got, "7 ") || len(got) != 66 {
		t.Errorf("stored: %s", got)
	}
	p.stdin = strings.Replace(manifestOf("piped"), "molecules.tsv", filepath.Join(dir, "molecules.tsv"), 1)
	if got := p.ok("apply", "-f", "-", "-o", "yaml"); !strings.Contains(got, "name: piped\n") || !strings.Contains(got, "uid: ") {
		t.Errorf("-o yaml: %s", got)
	}
	if got := p.ok("apply", "-f", several, "-o", "json"); !strings.Contains(got, `"kind": "JobList"`) {
		t.Errorf("-o json: %s", got)
	}

	more := file("more.tsv", molecules(30))
	for name, tc := range map[string]struct {
		files []string // name, text
		args  []string
		want  string
	}{
		"other fixed fields": {
			files: []string{"fixed.yaml", strings.Replace(manifestOf("two"), "rows: 10", "rows: 11", 1)},
			want:  "fixed.yaml: spec.sharding(.rows)?: field is immutable",
		},
		"another input": {
			files: []string{"other.yaml", manifestOf("two")}, args: []string{"--input", more},
			want: "other.yaml: apply job two: conflict: spec.input: it exists with another input, which cannot be changed",
		},
		"a parameter that is misspelt, before any upload": {
			files: []string{"topk.yaml", strings.Replace(manifestOf("new"), "top_k: 5", "topk: 5, threshold: 2", 1)}, args: []string{"--input", more},
			want: "topk.yaml: spec.parameters.topk: unknown field; did you mean top_k\\?\ntopk.yaml: spec.parameters.threshold: .*",
		},
		"an unknown workload": {
			files: []string{"workload.yaml", strings.Replace(manifestOf("new"), "similarity-search", "similarity-serch", 1)},
			want:  `workload.yaml: spec.workload: .*"similarity-serch".*`,
		},
		"faults in several files at once": {
			files: []string{
				"bad/a.yaml", manifestOf("good") + "---\nkind: [\n",
				"bad/b.yml", strings.Replace(manifestOf("b"), "sharding", "shards", 1),
				"bad/c.txt", "not read",
			}, args: []string{"-f", filepath.Join(dir, "bad")},
			want: "bad/a.yaml: document 1 .*spec.input.path: .*no such file.*\nbad/a.yaml: document 2 .*invalid YAML.*\n" +
				"bad/b.yml: spec.shards: unknown field.*\nbad/b.yml: spec.input.path: .*no such file.*",
		},
		"faults of every kind at once": {
			files: []string{"kinds.yaml", strings.NewReplacer("top_k: 5", "top_k: 0", "name: new", "name: New", "spec:", "spec:\n  prioriti: 1").Replace(manifestOf("new"))},
			want:  "kinds.yaml: spec.prioriti: unknown field; did you mean priority\\?\nkinds.yaml: metadata.name: .*\nkinds.yaml: spec.parameters.top_k: .*",
		},
		"faults of values in several documents": {
			files: []string{"values.yaml", manifestOf("Not_A_Name") + "---\n" + manifestOf("x", "  priority: 5000") + "---\n" + strings.Replace(manifestOf("z"), "molecules.tsv", "nothing.tsv", 1)},
			want:  "values.yaml: document 1 \\(line 1\\): metadata.name: .*\nvalues.yaml: document 2 .*: spec.priority: .*\nvalues.yaml: document 3 .*: spec.input.path: .*no such file.*",
		},
		"the same name twice":         {files: []string{"twice.yaml", manifestOf("x") + "---\n" + manifestOf("x")}, want: "twice.yaml: document 2 .*: metadata.name: x is also in twice.yaml: document 1.*"},
		"nothing":                     {files: []string{"nothing.yaml", "# empty\n"}, want: "nothing.yaml: no Job in it"},
		"a folder without manifests":  {files: []string{"empty/readme.txt", "x"}, args: []string{"-f", filepath.Join(dir, "empty")}, want: "empty: no .yaml, .yml or .json file in it"},
		"--input for several":         {files: []string{"pair.yaml", manifestOf("x") + "---\n" + manifestOf("z")}, args: []string{"--input", more}, want: "--input: goes with one Job, and there are 2"},
		"an input that is a folder":   {files: []string{"folder/readme.txt", "x", "dir.yaml", strings.Replace(manifestOf("x"), "molecules.tsv", "folder", 1)}, want: "dir.yaml: spec.input.path: folder is not a file"},
		"a file that does not exist":  {args: []string{"-f", filepath.Join(dir, "none.yaml")}, want: "stat none.yaml: no such file or directory"},
		"an artifact that is nowhere": {files: []string{"gone.yaml", strings.Replace(manifestOf("x"), "path: molecules.tsv", "sha256: '"+digest(1)+"'", 1)}, want: "gone.yaml: spec.input.sha256: no uploaded input has this SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"apply"}, tc.args...)
			for i := 0; i < len(tc.files); i += 2 {
				path := file(tc.files[i], tc.files[i+1])
				if !strings.Contains(tc.files[i], "/") {
					args = append(args, "-f", path)
				}
			}
			r := p.run(args...)
			if got := plain(r.err); r.code != ExitError || !matches("error: "+tc.want, got) || r.out != "" {
				t.Errorf("exit code %d, printed\n%s%s\nwant the complaint\n%s", r.code, r.out, got, tc.want)
			}
		})
	}
	if got := p.ok("get", "artifacts", "--kind", "input", "-o", "name"); strings.Count(got, "\n") != 1 {
		t.Errorf("what was refused was uploaded:\n%s", got)
	}

	// One that is refused does not hold up the others.
	mixed := file("mixed.yaml", strings.Replace(manifestOf("two"), "rows: 10", "rows: 11", 1)+"---\n"+manifestOf("late"))
	if r := p.run("apply", "-f", mixed); r.code != ExitError || r.out != "job/late created\n" || !strings.Contains(r.err, "field is immutable") {
		t.Errorf("%+v", r)
	}
	if got := p.ok("apply", "-f", file("wet.yaml", manifestOf("wet")), "--input", more, "--dry-run=server"); !strings.HasPrefix(got, "job/wet created (server dry run)\n  ") || !strings.Contains(got, " input rows in ") {
		t.Error(got)
	}
	if got := p.ok("get", "artifacts", "--kind", "input", "-o", "name"); strings.Count(got, "\n") != 1 {
		t.Errorf("a dry run uploaded:\n%s", got)
	}
}
