package tanimoto_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/tanimoto"
)

var acids = []struct{ name, smiles string }{
	{"salicylic acid", "OC(=O)c1ccccc1O"},
	{"benzoic acid", "OC(=O)c1ccccc1"},
	{"acetic acid", "CC(=O)O"},
	{"aspirin", "CC(=O)Oc1ccccc1C(=O)O"},
}

// index makes an index of the acids, and aspirin's fingerprint.
func index() (*tanimoto.Index, []uint64) {
	e := chem.New(chem.Options{})
	var rows []uint64
	fp := make([]uint64, e.Words())
	for _, m := range acids {
		if err := e.Fingerprint(fp, []byte(m.smiles)); err != nil {
			panic(err)
		}
		rows = append(rows, fp...)
	}
	x, err := tanimoto.Build(rows, 64*e.Words())
	if err != nil {
		panic(err)
	}
	return x, fp
}

func Example() {
	x, aspirin := index()
	hits, err := x.Searcher().Search(context.Background(), tanimoto.Query{
		Fingerprint: aspirin,
		K:           3,
		Tie:         func(a, b int) int { return cmp.Compare(acids[a].name, acids[b].name) },
	})
	if err != nil {
		panic(err)
	}
	for _, h := range hits {
		fmt.Printf("%s: %d of %d bits, %.3f\n", acids[h.Row].name, h.Common, h.Union, h.Float64())
	}
	// Output:
	// aspirin: 24 of 24 bits, 1.000
	// salicylic acid: 13 of 29 bits, 0.448
	// benzoic acid: 10 of 28 bits, 0.357
}

func ExampleSearcher_Pairs() {
	x, _ := index()
	err := x.Searcher().Pairs(context.Background(), tanimoto.PairQuery{Threshold: tanimoto.MustThreshold("0.4")},
		func(p tanimoto.Pair) error {
			fmt.Printf("%s and %s: %d of %d\n", acids[p.A].name, acids[p.B].name, p.Common, p.Union)
			return nil
		})
	if err != nil {
		panic(err)
	}
	// Unordered output:
	// salicylic acid and benzoic acid: 10 of 22
	// salicylic acid and aspirin: 13 of 29
}

func ExampleLoad() {
	x, aspirin := index()
	var file bytes.Buffer // an *os.File otherwise
	if err := x.Save(&file, tanimoto.Origin{Type: chem.Options{}.String(), Engine: chem.EngineName}); err != nil {
		panic(err)
	}

	x, origin, err := tanimoto.Load(&file)
	if err != nil {
		panic(err)
	}
	if origin.Engine != chem.EngineName {
		panic("fingerprints of another engine")
	}
	hits, err := x.Searcher().Search(context.Background(), tanimoto.Query{Fingerprint: aspirin, K: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println(origin.Type)
	fmt.Println(acids[hits[0].Row].name)
	// Output:
	// Morgan radius=2 bits=2048
	// aspirin
}

// Drugs are compared with a table of acids: all pairs of two indexes.
func ExampleSearcher_PairsWith() {
	x, aspirin := index()
	drugs, err := tanimoto.Build(aspirin, 2048)
	if err != nil {
		panic(err)
	}
	err = x.Searcher().PairsWith(context.Background(), drugs, tanimoto.PairQuery{Threshold: tanimoto.MustThreshold("0.4")},
		func(p tanimoto.Pair) error {
			fmt.Printf("drug %d and %s: %d of %d\n", p.A, acids[p.B].name, p.Common, p.Union)
			return nil
		})
	if err != nil {
		panic(err)
	}
	// Unordered output:
	// drug 0 and aspirin: 24 of 24
	// drug 0 and salicylic acid: 13 of 29
}

// The least similar pairs, for a set of diverse molecules.
func ExamplePairQuery_farthest() {
	x, _ := index()
	q := tanimoto.PairQuery{Threshold: tanimoto.MustThreshold("0.2"), Farthest: true}
	err := x.Searcher().Pairs(context.Background(), q, func(p tanimoto.Pair) error {
		fmt.Printf("%s and %s: %d of %d\n", acids[p.A].name, acids[p.B].name, p.Common, p.Union)
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Unordered output:
	// salicylic acid and acetic acid: 4 of 21
}

func ExampleSearcher_Histogram() {
	x, aspirin := index()
	edges := []tanimoto.Threshold{
		tanimoto.MustThreshold("0"), tanimoto.MustThreshold("0.25"), tanimoto.MustThreshold("0.5"), tanimoto.MustThreshold("1"),
	}
	counts, err := x.Searcher().Histogram(context.Background(), aspirin, edges)
	if err != nil {
		panic(err)
	}
	fmt.Println(counts)
	// Output: [1 2 0 1]
}

// Each acid is searched for, on all processors.
func ExampleParallel_SearchAll() {
	x, _ := index()
	rows := x.AppendRows(nil)
	queries := make([]tanimoto.Query, len(acids))
	for i := range queries {
		queries[i] = tanimoto.Query{Fingerprint: rows[i*32 : (i+1)*32], K: 2}
	}
	err := x.Parallel(0).SearchAll(context.Background(), queries, func(query int, hits []tanimoto.Hit) error {
		fmt.Printf("%s: %s\n", acids[query].name, acids[hits[1].Row].name)
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Unordered output:
	// salicylic acid: benzoic acid
	// benzoic acid: salicylic acid
	// acetic acid: aspirin
	// aspirin: salicylic acid
}

// Pairs are found on all processors; progress is told in pairs looked at.
func ExampleParallel_Pairs() {
	x, _ := index()
	done := 0
	q := tanimoto.PairQuery{
		Threshold: tanimoto.MustThreshold("0.4"),
		Progress:  func(pairs, total int) { done = 100 * pairs / total },
	}
	similar := 0
	err := x.Parallel(0).Pairs(context.Background(), q, func(tanimoto.Pair) error {
		similar++
		return nil
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d similar pairs, %d %% done\n", similar, done)
	// Output: 2 similar pairs, 100 % done
}

func ExampleSearcher_Count() {
	x, aspirin := index()
	n, err := x.Searcher().Count(context.Background(), aspirin, tanimoto.MustThreshold("0.35"))
	if err != nil {
		panic(err)
	}
	fmt.Println(n)
	// Output: 3
}
