package tanimoto

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkSearch searches fingerprints made up; for real ones there is
// hack/bench/search.
func BenchmarkSearch(b *testing.B) {
	const bits, n = 2048, 100_000
	rows := makeRows(rand.New(rand.NewPCG(8, 8)), n, bits)
	x, err := Build(rows, bits)
	if err != nil {
		b.Fatal(err)
	}
	for _, kernel := range Kernels() {
		s := x.Searcher()
		if err := s.UseKernel(kernel); err != nil {
			b.Fatal(err)
		}
		for _, q := range []Query{{K: 20}, {K: 1000}, {Threshold: MustThreshold("0.7")}} {
			b.Run(fmt.Sprintf("%s/K=%d", kernel, q.K), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					q.Fingerprint = rows[i%n*bits/64:][:bits/64]
					i += 997
					if _, err := s.Search(b.Context(), q); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/fp")
			})
		}
	}
}
