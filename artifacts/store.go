package artifacts

import (
	"context"
	"io"
	"iter"
	"time"
)

// A Blob names stored bytes.
type Blob struct {
	// SHA256 is the digest of the bytes: 64 lowercase hexadecimal digits.
	SHA256 string
	// SizeBytes is their number.
	SizeBytes int64
}

// Info is a Blob with the time at which it was last put.
type Info struct {
	Blob
	ModTime time.Time
}

// PutOptions says what a write must satisfy. The zero value accepts anything.
type PutOptions struct {
	// ExpectedSHA256, when set, is the digest that the bytes must have.
	ExpectedSHA256 string
	// MaxBytes, when positive, is the most bytes that are accepted.
	MaxBytes int64
}

// A Store keeps blobs. Its methods may be called by many goroutines at once,
// and several processes may share what is stored.
//
// A malformed digest is ErrInvalidDigest in every method.
type Store interface {
	// Create begins a blob. Nothing is visible before Commit. The context
	// bounds the call alone, not the life of the Writer.
	Create(ctx context.Context, opts PutOptions) (Writer, error)

	// Open returns a blob for reading from any position, or ErrNotFound. What
	// is read is not checked; see OpenVerified.
	Open(ctx context.Context, sha256 string) (Reader, error)

	// Stat describes a blob, or returns ErrNotFound.
	Stat(ctx context.Context, sha256 string) (Info, error)

	// Delete removes a blob whatever its age. Deleting what is not there is
	// no error.
	Delete(ctx context.Context, sha256 string) error

	// DeleteIfOlder removes a blob whose modification time is before cutoff,
	// and reports whether it did. It is atomic with respect to Put and Commit
	// of the same bytes: either that call comes first and the blob stays, or
	// it comes second and stores the bytes again.
	DeleteIfOlder(ctx context.Context, sha256 string, cutoff time.Time) (bool, error)

	// List yields every blob in ascending order of digest. Blobs that come or
	// go meanwhile may or may not be seen. It ends after the first error.
	List(ctx context.Context) iter.Seq2[Info, error]

	// SweepStaging removes what writers that died have left, as far as it was
	// last written before cutoff, and returns how many pieces went. The cutoff
	// must lie further back than the longest pause within one upload.
	SweepStaging(ctx context.Context, cutoff time.Time) (int, error)
}

// A Writer receives the bytes of one blob. It is for one goroutine.
type Writer interface {
	// Write appends. It returns ErrTooLarge past PutOptions.MaxBytes and
	// ErrNoSpace when the medium is full; after any error the Writer can only
	// be aborted.
	io.Writer

	// Commit makes the blob durable and visible, in this order, and returns
	// its name; ErrDigestMismatch if it is not the one expected. A Commit
	// whose context ends early may still make the blob visible later.
	Commit(ctx context.Context) (Blob, error)

	// Abort drops what was written. After Commit it does nothing, so that it
	// can be deferred.
	Abort() error
}

// A Reader reads one blob. It suits http.ServeContent.
type Reader interface {
	io.ReadSeekCloser

	// Size is the number of bytes of the whole blob.
	Size() int64
}

// Put stores all of r as one blob. It reads until EOF or the first error,
// which it returns; then nothing has been stored.
func Put(ctx context.Context, s Store, r io.Reader, opts PutOptions) (Blob, error) {
	w, err := s.Create(ctx, opts)
	if err != nil {
		return Blob{}, err
	}
	defer w.Abort() //nolint:errcheck // the error that led here says more

	if err := copyContext(ctx, w, r); err != nil {
		return Blob{}, err
	}
	return w.Commit(ctx)
}

// copyContext copies r to w until EOF, an error, or the end of ctx.
func copyContext(ctx context.Context, w io.Writer, r io.Reader) error {
	_, err := io.Copy(w, readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	}))
	return err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
