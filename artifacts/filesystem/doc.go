// Package filesystem keeps blobs in a folder, which several processes may share.
//
//	sha256/ab/<64 hex digits>   a blob, whole and durable
//	staging/<uuid>              a blob that is being written
//	locks/ab                    orders Put and delete of the blobs in sha256/ab
//	journal/<uuid>              small blobs of one process that were answered for
//
// # A write
//
// Up to 64 KiB are gathered in memory; a longer blob goes to its staging file as
// it comes, so a write needs 64 KiB whatever the size. Commit then takes these
// steps, each one ended before the next begins:
//
//  1. fsync of the staging file: the bytes are durable, under a name that no
//     reader knows;
//  2. with the prefix locked (shared), refresh of the modification time and
//     rename to the digest: the blob becomes visible;
//  3. fsync of the folder: the name is durable. Only now is the caller answered.
//
// A blob of at most 64 KiB whose bytes are there already needs step 3 and the new
// modification time alone. Longer ones replace what is there, which also
// repairs a blob that the disk has damaged.
//
// # Durability in groups
//
// An fsync is most of the cost of a small blob. At most Options.SyncConcurrency
// commits do I/O at once, which is where a journalling file system merges what
// arrives together into one journal commit. Commits that wait to sync the same
// folder share one fsync: see dirSync. Nobody waits for company: a commit that comes alone
// starts at once. syncfs(2), one call for all that was staged, was measured
// too. It is up to half again as fast while the disk is otherwise idle, and
// several times slower as soon as anybody writes a large file to the same file
// system, because it waits for that file as well.
//
// # The journal
//
// With Options.Journal, which needs Linux, a new blob of at most 64 KiB takes
// two steps instead:
//
//  1. it is appended to this process's journal, with all others that wait, and one
//     fdatasync serves them all: the bytes are durable;
//  2. it is renamed from staging to the digest, without a sync: it is visible
//     to every process. Now the caller is answered.
//
// So whatever is visible is durable, in its own place or in a journal. A
// journal has two files of 16 MiB that are written in turn. The full one is emptied
// once syncfs(2) has made durable what it holds; that happens beside the commits,
// so what syncfs costs while others write large files delays nobody. The files
// are filled with zeros first, so that a sync moves no size and waits for no
// journal of the file system.
//
// New looks for journals whose process is gone (each is locked while it lives).
// If the machine was started since, their blobs are compared and written again
// where the file system lost them; else they are in place. Then syncfs, and
// they are removed. A record is whole if its bytes have its digest; the first that
// is not ends the journal, as nobody was answered for it. A blob that was deleted and is
// still in a journal comes back with a power cut, and can be deleted again.
// If the journal cannot be written, a blob takes the three steps above.
//
// # Locks
//
// Locks are flock(2), so they end with the process that holds them.
//
//   - A prefix is locked shared while a name is put or refreshed, and
//     exclusively while DeleteIfOlder compares and unlinks. So a blob that was put
//     again is never deleted for its old age. Neither lock spans an fsync.
//   - A staging file is locked while its writer lives. SweepStaging removes only what
//     it can lock: files whose writer is gone.
//
// Modification times are set from the clock of the host that writes. Hosts that
// share a folder must agree on the time to well within the grace period of
// whoever calls DeleteIfOlder.
package filesystem
