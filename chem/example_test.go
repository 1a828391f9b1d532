package chem_test

import (
	"errors"
	"fmt"
	"math/bits"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/smiles"
)

func ExampleEngine_Fingerprint() {
	e := chem.New(chem.Options{})
	fp := make([]uint64, e.Words())
	if err := e.Fingerprint(fp, []byte("CC(=O)Oc1ccccc1C(=O)O")); err != nil {
		fmt.Println(err)
		return
	}
	on := 0
	for _, w := range fp {
		on += bits.OnesCount64(w)
	}
	fmt.Println("aspirin sets", on, "bits")
	// Output: aspirin sets 24 bits
}

func ExampleEngine_Fingerprint_syntaxError() {
	e := chem.New(chem.Options{})
	err := e.Fingerprint(make([]uint64, e.Words()), []byte("c1ccccc1C(=O"))
	if syntax, ok := errors.AsType[*smiles.SyntaxError](err); ok {
		fmt.Println(err)
		fmt.Println(syntax.Caret())
	}
	// Output:
	// SMILES syntax: branch is never closed at byte 9
	// c1ccccc1C(=O
	//          ^
}

func ExampleEngine_Fingerprint_structureError() {
	e := chem.New(chem.Options{})
	fmt.Println(e.Fingerprint(make([]uint64, e.Words()), []byte("CC(C)(C)(C)C")))
	// Output: valence: C with charge +0 cannot have valence 5 (atoms 1)
}

func ExampleEngine_Same() {
	e := chem.New(chem.Options{})
	for _, b := range []string{"OCC", "COC"} {
		same, err := e.Same([]byte("CCO"), []byte(b))
		fmt.Println(b, same, err)
	}
	// Output:
	// OCC true <nil>
	// COC false <nil>
}
