package blocks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const shardText = "chembl_id\tcanonical_smiles\n" +
	"A\tCCO\n" + "B, \"quoted\"\tc1ccccc1\n" + "C\tC1CC\n" + "\tCC(=O)O\n" + "E\tCC(C)(C)(C)C\n" + "F\tCCN\n"

func makeBlock(t testing.TB, shard string, threads int) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := (Maker{Threads: threads}).Make(context.Background(), strings.NewReader(shard), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type entry struct{ ID, SMILES, Reject string }

func readAll(b *Reader) (list []entry, err error) {
	for {
		r, err := b.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, entry{string(r.ID), string(r.SMILES), r.Reject})
	}
}

func TestABlockHoldsTheRowsOfItsShard(t *testing.T) {
	block := makeBlock(t, shardText, 1)
	x, b, err := Load(bytes.NewReader(block))
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(b)
	if err != nil {
		t.Fatal(err)
	}
	want := []entry{
		{"A", "CCO", ""}, {"B, \"quoted\"", "c1ccccc1", ""}, {"C", "", "InvalidSMILES"}, {"", "CC(=O)O", ""},
		{"E", "", "InvalidSMILES"}, {"F", "CCN", ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if l := b.Ledger(); x.Len() != 4 || l.RowsRead != 6 || l.Scored != 4 || l.Rejected["InvalidSMILES"] != 2 {
		t.Errorf("%d fingerprints, ledger %+v", x.Len(), l)
	}
	scanned, err := Scan(bytes.NewReader(block))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := readAll(scanned); err != nil || !cmp.Equal(again, want) {
		t.Errorf("scanned: %v, %v", again, err)
	}
	for _, threads := range []int{2, 7} {
		if !bytes.Equal(makeBlock(t, shardText, threads), block) {
			t.Errorf("the block differs with %d threads", threads)
		}
	}
	if x, _, err := Load(bytes.NewReader(makeBlock(t, "chembl_id\tcanonical_smiles\n", 1))); err != nil || x.Len() != 0 {
		t.Errorf("an empty shard: %v", err)
	}
}

func TestADamagedBlockIsRefused(t *testing.T) {
	block := makeBlock(t, shardText, 1)
	check := func(what string, b []byte) {
		_, r, err := Load(bytes.NewReader(b))
		if err == nil {
			_, err = readAll(r)
		}
		if err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	for cut := range block {
		check("a block that was cut off", block[:cut])
		check("a block without its beginning", block[cut+1:])
	}
	check("two blocks", append(bytes.Clone(block), block...))
	for _, change := range [][2]string{
		{"molecule,1,A", "molecule,2,A"}, {"molecule,1,A", "reject,1,A"}, {"count,6,,,read", "count,7,,,read"},
		{"count,4,,,scored\r\n", ""}, {"end,,,,", "end,,x,,"}, {"InvalidSMILES\r\nend", "Invalid SMILES\r\nend"},
	} {
		check(change[0]+" as "+change[1], bytes.Replace(block, []byte(change[0]), []byte(change[1]), 1))
	}
}

func FuzzBlocksAreReadWithoutAPanic(f *testing.F) {
	f.Add(makeBlock(f, shardText, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, r, err := Load(bytes.NewReader(b)); err == nil {
			_, _ = readAll(r)
		}
		if r, err := Scan(bytes.NewReader(b)); err == nil {
			_, _ = readAll(r)
		}
	})
}

func TestMakingABlockEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Maker{}).Make(ctx, strings.NewReader(shardText), io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
