package golden

import (
	"strings"
	"testing"

	"scimesh.dev/scimesh/chem"
)

func TestThisEngineAgrees(t *testing.T) {
	if faults := Check(Answers()); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
	if !Claims(chem.EngineName) {
		t.Errorf("the answers are of %s, the engine is %s", Model(), chem.EngineName)
	}
	expected := Expected()
	refused := 0
	for smiles, digest := range expected {
		if digest == Refused {
			refused++
		} else if len(digest) != 64 {
			t.Errorf("%s: %s", smiles, digest)
		}
	}
	if len(expected) < 60 || refused < 5 {
		t.Errorf("%d molecules, %d of them refused", len(expected), refused)
	}
}

func TestFaultsNameTheMolecule(t *testing.T) {
	const aspirin = "CC(=O)Oc1ccccc1C(=O)O"
	bad := ""
	for smiles, digest := range Expected() {
		if digest == Refused {
			bad = smiles
		}
	}
	for name, tc := range map[string]struct {
		change func(map[string]string)
		want   Fault
	}{
		"another bit":         {func(a map[string]string) { a[aspirin] = strings.Repeat("0", 64) }, Fault{aspirin, "its fingerprints differ from those of " + Model()}},
		"wrongly refused":     {func(a map[string]string) { a[aspirin] = Refused }, Fault{aspirin, "it is refused, and RDKit accepts it"}},
		"wrongly accepted":    {func(a map[string]string) { a[bad] = a[aspirin] }, Fault{bad, "it is accepted, and RDKit refuses it"}},
		"no answer":           {func(a map[string]string) { delete(a, aspirin) }, Fault{aspirin, "there is no answer for this molecule"}},
		"more than was asked": {func(a map[string]string) { a["x"] = "y" }, Fault{}},
	} {
		answers := Expected()
		tc.change(answers)
		got := Check(answers)
		if tc.want == (Fault{}) && len(got) > 0 || tc.want != (Fault{}) && (len(got) != 1 || got[0] != tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if got := Check(nil); len(got) != len(Expected()) {
		t.Errorf("without answers: %d faults", len(got))
	}
}

func TestUnprovenEnginesHaveNoModel(t *testing.T) {
	if got := Unproven("a/1 " + Model()); Claims(got) || strings.Contains(got, "rdkit-model/") || got == "" {
		t.Errorf("got %s", got)
	}
	for _, engine := range []string{"", "a/1", "a/1 rdkit-model/1.0", "a/1 x" + Model(), "a/1 " + Model() + "1"} {
		if Claims(engine) {
			t.Errorf("%q claims to be %s", engine, Model())
		}
	}
	if got := Unproven("a/1"); got != "a/1" {
		t.Errorf("got %s", got)
	}
}
