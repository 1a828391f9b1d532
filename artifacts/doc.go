// Package artifacts stores the bytes that jobs read and write: inputs, shards,
// partial results, final files.
//
// A blob is named by the SHA-256 of its bytes, so it never changes once it is
// there, two artifacts with equal bytes share one blob, and whoever reads it
// can check it. The store knows nothing of jobs: which blobs are needed is
// decided by the rows of the database, and the two are kept in step by an order
// of steps, without a transaction that spans both.
//
// # What always holds
//
//   - Only whole blobs are visible. Open, Stat and List never show a blob
//     before all of its bytes are in place under their digest.
//   - A Commit or Put that returned nil is durable: the blob survives a power
//     cut that follows at once.
//   - A write that breaks off (error, Abort, cancelled context, killed process)
//     leaves nothing visible. What a killed process leaves in staging goes with
//     SweepStaging.
//   - A blob's modification time is the time of the last Put or Commit of its
//     bytes, also when they were there already.
//
// # Blobs and rows
//
// The row is written after the blob and deleted before it:
//
//	writer   Put(blob) → insert row
//	janitor  delete row → … → DeleteIfOlder(blob, cutoff) if no row names it
//
// So a row never points at nothing, provided that the cutoff lies further back
// than the longest time between a Put and the commit of its row (the grace
// period). The order that matters is in the janitor: it reads the clock for the
// cutoff first, then looks for rows, then deletes. A writer that put the same
// bytes again in the meantime has refreshed the modification time, and
// DeleteIfOlder, which compares and deletes as one step with respect to every
// Put in every process, leaves the blob alone. A writer that comes later finds
// no blob and writes it again.
//
// An unreferenced blob costs disk space alone, so every doubt is resolved in
// favour of keeping it.
package artifacts
