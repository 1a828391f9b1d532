//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// molecules writes a table of n molecules with ids MOL1…: chains, rings and
// substituents put together at random from a fixed seed, so that similarities
// are many and ties are common. Every 97th row is one that is rejected.
func molecules(t *testing.T, n int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 11))
	pick := func(s []string) string { return s[rng.IntN(len(s))] }
	links := []string{"C", "CC", "CCC", "N", "O", "OC", "NC(=O)", "CS(=O)(=O)", "C(F)(F)", "C(C)"}
	ends := []string{"C", "N", "O", "F", "Cl", "Br", "C#N", "C(=O)O"}
	cores := []string{"c1ccc(%s)cc1", "c1ccc2c(c1)cc(%s)[nH]2", "C1CCN(%s)CC1", "c1cnc(%s)nc1", "C1COCCN1%s", "c1csc(%s)c1", "C1CC1%s"}
	var b strings.Builder
	b.WriteString("extra\tcanonical_smiles\tchembl_id\n")
	for i := 1; i <= n; i++ {
		smiles := pick(ends) + fmt.Sprintf(pick(cores), pick(links)+pick(links)+pick(ends))
		switch {
		case i%97 == 0:
			smiles = "C1CC(" // cannot be parsed
		case i%389 == 0:
			fmt.Fprintf(&b, "short\n")
			continue
		}
		fmt.Fprintf(&b, "x\t%s\tMOL%d\n", smiles, i)
	}
	path := filepath.Join(t.TempDir(), "molecules.tsv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// search is a manifest of a search over the file at path.
type search struct {
	name, path  string
	rows        int
	parameters  string // YAML, flow style
	maxAttempts int
	engine      string
}

// write writes the manifest and returns its path.
func (s search) write(t *testing.T) string {
	t.Helper()
	manifest := fmt.Sprintf(`apiVersion: scimesh.dev/v1
kind: Job
metadata: {name: %s, labels: {suite: e2e}}
spec:
  workload: similarity-search
  input: {path: %s}
  parameters: %s
  sharding: {rows: %d}
  maxAttempts: %d
`, s.name, s.path, s.parameters, s.rows, max(s.maxAttempts, 3))
	if s.engine != "" {
		manifest += "  engine: " + s.engine + "\n"
	}
	path := filepath.Join(t.TempDir(), s.name+".yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
