package extsort

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var numbers = Merger[uint64]{
	Compare: cmp.Compare[uint64],
	Codec: Codec[uint64]{
		Append: binary.AppendUvarint,
		Decode: func(b []byte) (uint64, error) { v, _ := binary.Uvarint(b); return v, nil },
	},
}

func empty(t interface{ Errorf(string, ...any) }, dir string) {
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%d temporary files are left, %v", len(left), err)
	}
}

func TestSortingWithFilesEqualsSorting(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Uint64Range(0, 500)).Draw(t, "items")
		s := Sorter[uint64]{Merger: numbers, Limit: rapid.IntRange(1, 40).Draw(t, "limit"), Size: func(uint64) int { return 1 }}
		s.Dir = dir
		for _, v := range want {
			if err := s.Add(v); err != nil {
				t.Fatal(err)
			}
		}
		var got []uint64
		if err := s.Each(context.Background(), func(v uint64) error { got = append(got, v); return nil }); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		empty(t, dir)
	})
}

// counting counts the streams that are open.
type counting struct {
	slice[uint64]
	open, most *int
	fail       error
}

func (c *counting) Next() (uint64, error) {
	if len(c.items) == 0 && c.fail != nil {
		return 0, c.fail
	}
	return c.slice.Next()
}

func (c *counting) Close() error { *c.open--; return nil }

func sources(n int, open, most *int, fail error) []Open[uint64] {
	list := make([]Open[uint64], n)
	for i := range list {
		list[i] = func() (Stream[uint64], error) {
			*open++
			*most = max(*most, *open)
			c := &counting{slice[uint64]{[]uint64{uint64(i), uint64(i + n)}}, open, most, nil}
			if i == n/2 {
				c.fail = fail
			}
			return c, nil
		}
	}
	return list
}

func TestThousandsOfStreamsAreMergedAFewAtATime(t *testing.T) {
	m := numbers
	m.Dir = t.TempDir()
	const n = 5000
	var open, most int
	next := uint64(0)
	err := m.Merge(t.Context(), sources(n, &open, &most, nil), func(v uint64) error {
		if v != next {
			t.Fatalf("got %d, want %d", v, next)
		}
		next++
		return nil
	})
	if err != nil || next != 2*n {
		t.Fatalf("%d items, %v; want %d", next, err, 2*n)
	}
	if most > FanIn || open != 0 {
		t.Errorf("%d streams open at once and %d at the end, want at most %d and none", most, open, FanIn)
	}
	empty(t, m.Dir)
}

func TestAFaultEndsTheMergeAndLeavesNothing(t *testing.T) {
	m := numbers
	m.Dir = t.TempDir()
	broken := errors.New("broken")
	for _, n := range []int{3, 200} {
		var open, most int
		if err := m.Merge(t.Context(), sources(n, &open, &most, broken), func(uint64) error { return nil }); !errors.Is(err, broken) {
			t.Errorf("%d streams, one broken: %v", n, err)
		}
		if err := m.Merge(t.Context(), sources(n, &open, &most, nil), func(uint64) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("%d streams into something broken: %v", n, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.Merge(ctx, sources(n, &open, &most, nil), func(uint64) error { return io.EOF }); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		if open != 0 {
			t.Errorf("%d streams are left open", open)
		}
	}
	empty(t, m.Dir)
}
