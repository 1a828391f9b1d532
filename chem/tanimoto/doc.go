// Package tanimoto searches binary fingerprints by Tanimoto similarity, exactly
// and faster than their rows could be read from memory.
//
// The similarity of two fingerprints with a and b bits on, c of them in common,
// is c/(a+b−c). It is never rounded: a [Score] is that pair of integers, a
// [Threshold] is a decimal read as a fraction, and the two are compared by
// multiplication. Two fingerprints without a bit on, which only molecules without
// atoms have, are equal: similarity 1. (RDKit said so too until 2022.09 at least;
// 2026.9.1 says 0.)
//
//	x, err := tanimoto.Build(rows, 2048)  // rows: 32 words a fingerprint
//	s := x.Searcher()                     // scratch memory of one goroutine
//	hits, err := s.Search(ctx, tanimoto.Query{Fingerprint: q, K: 20})
//
// # Order
//
// Hits are ordered by similarity, most similar first (with Farthest: least
// similar first). Many molecules share a similarity, and which of them come
// first, and which are the last of K, is the caller's to say: [Query.Tie]
// compares two rows, and must be a total order for the answer not to depend on
// the order of rows. Without it the lower row comes first.
//
// # Layout
//
// A chemical fingerprint has few bits on (about 48 of 2048), so a query needs few
// of the columns, and the [Index] stores columns. Fingerprints are sorted by the
// number of their on bits, within one number by their rarest bits, and cut into
// tiles of 32,768; a permutation leads back to the rows. In a tile each column is
// 4096 bytes of bits, then 64 bytes that keep the columns from falling into the
// same sets of the cache:
//
//	tile   column 0                     column 1            …  zero column
//	       position 0 … 32,767, padding position 0 … 32,767 …
//
// The last tile is as long as it must be. Fingerprints that are appended later
// stay as rows, and are compared one by one, until the index is built again.
//
// [Index.Save] writes an index as a file, with what its fingerprints are and what
// made them, and [Load] reads it at about a gigabyte of index a second. The
// file holds fingerprints and their row numbers alone: identifiers and structures
// of the rows are the caller's to keep.
//
// # Counting
//
// A kernel adds the query's columns for 512 positions at once into bit planes:
// plane j holds bit j of every position's common count. A tree of carry-save
// adders takes eight columns at a time. The planes start at 2^p−K rather than 0,
// so that the plane above them, which keeps the carry out, is the mask of
// positions with at least K bits in common.
//
// Three things are left out, none of which can hold a hit. Numbers of on bits
// too small or too large for the threshold are never visited. Of those visited,
// the first phase counts only the rarest columns: who has K of m bits in common
// has at least K−(m−r) among any r of them. The second phase counts in full, in
// the blocks of 512 positions that the first one left.
//
// On amd64 there are kernels for AVX2 and AVX-512F beside the portable one; the
// best that the processor can run is chosen, see [Kernels]. The build tag purego
// leaves them out.
package tanimoto
