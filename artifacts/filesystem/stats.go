package filesystem

import "sync/atomic"

// Stats counts what a Store has done since New.
type Stats struct {
	Blobs        int64 // commits that succeeded
	Bytes        int64 // their bytes
	Deduplicated int64 // commits that found their bytes in place
	FileSyncs    int64 // fsyncs of staging files
	DirSyncs     int64 // fsyncs of folders, each for one or more commits
	JournalSyncs int64 // syncs of the journal, each for one or more commits
}

type counters struct {
	blobs, bytes, deduplicated, fileSyncs, dirSyncs, journalSyncs atomic.Int64
}

// Stats returns the present counts, for metrics.
func (s *Store) Stats() Stats {
	return Stats{
		Blobs:        s.stats.blobs.Load(),
		Bytes:        s.stats.bytes.Load(),
		Deduplicated: s.stats.deduplicated.Load(),
		FileSyncs:    s.stats.fileSyncs.Load(),
		DirSyncs:     s.stats.dirSyncs.Load(),
		JournalSyncs: s.stats.journalSyncs.Load(),
	}
}
