package tanimoto

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAssemblyIsGenerated compares the assembly with what its generator writes. It
// is skipped where the generator's modules are not to be had.
func TestAssemblyIsGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the generator")
	}
	if out, err := exec.Command("go", "-C", "_asm", "mod", "download").CombinedOutput(); err != nil {
		t.Skipf("the generator's modules are not to be had: %v\n%s", err, out)
	}
	dir := t.TempDir()
	files := map[string]string{"-out": "kernel_amd64.s", "-stubs": "kernel_stubs_amd64.go"}
	args := []string{"-C", "_asm", "run", ".", "-pkg", "tanimoto"}
	for option, name := range files {
		args = append(args, option, filepath.Join(dir, name))
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("generator: %v\n%s", err, out)
	}
	for _, name := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(withoutCommand(got), withoutCommand(want)) {
			t.Errorf("%s is not what _asm generates: run go generate", name)
		}
	}
}

// withoutCommand cuts the first line, which repeats the command with its paths.
func withoutCommand(file []byte) []byte {
	_, rest, _ := bytes.Cut(file, []byte("\n"))
	return rest
}
