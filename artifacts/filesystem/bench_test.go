package filesystem

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"scimesh.dev/scimesh/artifacts"
)

// BenchmarkPut measures new small blobs, as partial results are, from several
// clients at once; "raw" is the floor: write and fsync of a file in one folder,
// without a digest, a name by content, or a sync of the folder.
func BenchmarkPut(b *testing.B) {
	for _, clients := range []int{1, 8, 32, 256} {
		b.Run(fmt.Sprintf("raw/clients=%d", clients), func(b *testing.B) {
			dir := b.TempDir()
			var n atomic.Int64
			run(b, clients, func(data []byte) error {
				return writeRaw(filepath.Join(dir, fmt.Sprint(n.Add(1))), data)
			})
		})
		b.Run(fmt.Sprintf("store/clients=%d", clients), func(b *testing.B) {
			s := makeStore(b)
			run(b, clients, func(data []byte) error {
				_, err := artifacts.Put(b.Context(), s, bytes.NewReader(data), artifacts.PutOptions{})
				return err
			})
			stats := s.Stats()
			b.ReportMetric(float64(stats.DirSyncs)/float64(stats.Blobs), "dirsyncs/op")
		})
	}
}

// BenchmarkPutAgain measures blobs that are there already.
func BenchmarkPutAgain(b *testing.B) {
	s := makeStore(b)
	data := make([]byte, 4096)
	put(b, s, data)
	for b.Loop() {
		put(b, s, data)
	}
}

// BenchmarkStream streams 64 MiB; "raw" is write and fsync alone.
func BenchmarkStream(b *testing.B) {
	data := make([]byte, 64<<20)
	for i := 0; i < len(data); i += 8 {
		binary.LittleEndian.PutUint64(data[i:], rand.Uint64())
	}
	b.Run("raw", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		path := filepath.Join(b.TempDir(), "raw")
		for b.Loop() {
			if err := writeRaw(path, data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("store", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		s := makeStore(b)
		for b.Loop() {
			put(b, s, data)
		}
	})
}

func writeRaw(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close() // synced below
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// run makes b.N calls from many clients, each with 4 KiB of its own, and
// reports calls a second and the latency.
func run(b *testing.B, clients int, call func(data []byte) error) {
	var next atomic.Int64
	took := make([]time.Duration, b.N)
	seed := rand.Uint64()
	b.ResetTimer()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			data := make([]byte, 4096)
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				binary.LittleEndian.PutUint64(data, seed+uint64(i))
				start := time.Now()
				if err := call(data); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(float64(took[b.N*99/100].Microseconds())/1000, "p99-ms")
}
