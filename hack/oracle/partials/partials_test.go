// Package partials compares the partial results of the Go and the Python
// worker byte by byte: a Job may take each of its tasks from either.
package partials

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/similaritysearch"
)

// python returns a Python in which the worker is installed.
func python(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", ".cache", "venv", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, "-c", "import scimesh_worker").CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the Python worker is not installed (run hack/bootstrap python): %v\n%s", err, out)
		}
		t.Skip("the Python worker is not installed; hack/bootstrap python installs it")
	}
	return path
}

// executePython runs a task as the Python worker does. A failure that the user can mend is returned as its reason.
func executePython(t *testing.T, interpreter string, shard []byte, parameters string) (partial, reason string) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "input"), filepath.Join(dir, "output")
	if err := os.WriteFile(in, shard, 0o600); err != nil {
		t.Fatal(err)
	}
	request, err := json.Marshal(map[string]any{
		"workload": similaritysearch.Name, "parameters": json.RawMessage(parameters),
		"input": in, "output": out, "workspace": dir, "memory_mb": 0, "row_seconds": 30.0,
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), interpreter, "-m", "scimesh_worker.child", "execute")
	stdin, err := cmd.StdinPipe() // its end would end the process
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(append(request, '\n')); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	last := stdout.String()[strings.LastIndexByte(strings.TrimSuffix(stdout.String(), "\n"), '\n')+1:]
	var message struct {
		Result    json.RawMessage
		Reason    string
		Exception string
	}
	if err != nil || json.Unmarshal([]byte(last), &message) != nil || message.Exception != "" {
		t.Fatalf("%v, last message %s", err, last)
	}
	if message.Reason != "" {
		return "", message.Reason
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), ""
}

func executeGo(t *testing.T, shard []byte, parameters string) (partial, reason string) {
	t.Helper()
	var out bytes.Buffer
	_, err := similaritysearch.New().Execute(t.Context(), workloads.TaskRequest{
		Input: bytes.NewReader(shard), Parameters: json.RawMessage(parameters), Output: &out, Threads: 1,
	})
	if e, ok := err.(*workloads.Error); ok { //nolint:errorlint // a workload returns it unwrapped
		return "", e.Reason
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), ""
}

// table is a shard with every kind of row.
func table() string {
	var b strings.Builder
	b.WriteString("\ufeff\r\nnote\tcanonical_smiles\tchembl_id\r\n")
	cores := []string{"c1ccccc1", "C1CCNCC1", "c1ccc2[nH]ccc2c1", "C1CC1", "OC(=O)", "C[C@H](N)", "F/C=C/"}
	for i := range 600 {
		fmt.Fprintf(&b, "x\t%s%s\tM%d\r\n", strings.Repeat("C", i%23), cores[i%len(cores)], i%250)
	}
	b.WriteString("x\tCCO\tquery\r\nx\tOCC\tthe query spelt otherwise\r\nx\tC(O)C\t\r\n\r\nshort\r\nx\tC1CC\tbroken\r\n")
	b.WriteString("x\t\tempty\r\nx\tCCO name\twith a name\r\nx\tC\xff\tbad \xc3\x28 bytes \xed\xa0\x80\r\nx\tCC\t\xe2\x82 cut\r\n")
	b.WriteString("x\tCCN\t\"quoted, id\"\tmore\r\nx\tCCN\t leading space \r\nx\tCCN\tÄö 漢字\r\nx\tCCN\ta\rb\r\nx\t[Na+].[Cl-]\tsalt\r\n")
	b.WriteString("x\tC%1\tbad ring\r\nx\t*\tdummy\r\nx\t[13CH4]\tisotope\r\nx\tCCO\tno line end")
	return b.String()
}

func compressed(t *testing.T, text string) (gz, zst []byte) {
	t.Helper()
	half := len(text) / 2
	var a, b bytes.Buffer
	for _, part := range []string{text[:half], text[half:]} { // two members, two frames
		w := gzip.NewWriter(&a)
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return a.Bytes(), b.Bytes()
}

func TestGoAndPythonWriteTheSameBytes(t *testing.T) {
	interpreter := python(t)
	gz, zst := compressed(t, table())
	for name, tc := range map[string]struct {
		shard      []byte
		parameters string
	}{
		"the most similar":            {[]byte(table()), `{"query_smiles":"CCO","top_k":100,"threshold_direction":"greater"}`},
		"the least similar":           {[]byte(table()), `{"query_smiles":"CCCCc1ccccc1","top_k":300,"threshold":"0.25","threshold_direction":"less"}`},
		"a threshold on the boundary": {[]byte(table()), `{"query_smiles":"CCCCc1ccccc1","top_k":900,"threshold":"0.5","threshold_direction":"greater"}`},
		"a query with an id":          {[]byte(table()), `{"query_id":"M7","query_smiles":"CCCCCCCc1ccccc1","top_k":20,"threshold_direction":"greater"}`},
		"a query without on bits":     {[]byte(table()), `{"query_smiles":"","top_k":20,"threshold_direction":"greater"}`},
		"one hit":                     {[]byte(table()), `{"query_smiles":"[Na+].[Cl-]","top_k":1,"threshold_direction":"greater"}`},
		"gzip in two members":         {gz, `{"query_smiles":"CCO","top_k":100,"threshold_direction":"greater"}`},
		"zstd in two frames":          {zst, `{"query_smiles":"CCO","top_k":100,"threshold_direction":"greater"}`},
		"a line too long":             {[]byte("chembl_id\tcanonical_smiles\nA\t" + strings.Repeat("C", 17<<20) + "\nB\tCC\n" + strings.Repeat("D", 17<<20)), `{"query_smiles":"CCO","top_k":5,"threshold_direction":"greater"}`},
		"no row":                      {[]byte("chembl_id\tcanonical_smiles\n"), `{"query_smiles":"CCO","top_k":5,"threshold_direction":"greater"}`},
	} {
		t.Run(name, func(t *testing.T) {
			want, reason := executeGo(t, tc.shard, tc.parameters)
			got, gotReason := executePython(t, interpreter, tc.shard, tc.parameters)
			if got != want || reason != "" || gotReason != "" {
				t.Errorf("Python %s writes\n%.3000s\nGo %s writes\n%.3000s", gotReason, got, reason, want)
			}
		})
	}
}

func TestGoAndPythonRefuseTheSame(t *testing.T) {
	interpreter := python(t)
	gz, zst := compressed(t, table())
	const parameters = `{"query_smiles":"CCO","top_k":100,"threshold_direction":"greater"}`
	for name, tc := range map[string]struct {
		shard      []byte
		parameters string
	}{
		"an empty input":        {nil, parameters},
		"a column twice":        {[]byte("chembl_id\tchembl_id\tcanonical_smiles\nA\tA\tC\n"), parameters},
		"gzip that is cut":      {gz[:len(gz)-9], parameters},
		"zstd that is cut":      {zst[:len(zst)-9], parameters},
		"a zip archive":         {[]byte("PK\x03\x04rest"), parameters},
		"an unknown parameter":  {[]byte(table()), `{"query_smiles":"CCO","top_k":1,"threshold_direction":"greater","topk":1}`},
		"a missing query":       {[]byte(table()), `{"top_k":1,"threshold_direction":"greater"}`},
		"an invalid query":      {[]byte(table()), `{"query_smiles":"C1CC","top_k":1,"threshold_direction":"greater"}`},
		"a wrong direction":     {[]byte(table()), `{"query_smiles":"CCO","top_k":1,"threshold_direction":"up"}`},
		"a threshold above one": {[]byte(table()), `{"query_smiles":"CCO","top_k":1,"threshold":"1.5","threshold_direction":"less"}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, want := executeGo(t, tc.shard, tc.parameters)
			_, got := executePython(t, interpreter, tc.shard, tc.parameters)
			if got != want || want == "" {
				t.Errorf("Python refuses as %q, Go as %q", got, want)
			}
		})
	}
}

// What only the Go worker can compute fails so that another worker gets it.
func TestPythonLeavesToOthersWhatItCannotCompute(t *testing.T) {
	interpreter := python(t)
	for name, tc := range map[string]struct{ shard, parameters string }{
		"another measure":    {table(), `{"query_smiles":"CCO","top_k":1,"threshold_direction":"greater","measure":"dice"}`},
		"another format":     {"CCO\tA\nCCN\tB\n", `{"query_smiles":"CCO","top_k":1,"threshold_direction":"greater"}`},
		"fingerprints alone": {"#FPS1\n#num_bits=2048\n", `{"query_smiles":"CCO","top_k":1,"threshold_direction":"greater"}`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, reason := executePython(t, interpreter, []byte(tc.shard), tc.parameters); reason != "UnsupportedByWorker" {
				t.Errorf("refused as %q", reason)
			}
		})
	}
}
