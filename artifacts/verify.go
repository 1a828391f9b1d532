package artifacts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// OpenVerified opens a blob for one sequential reading that is checked: in
// place of io.EOF the reader returns ErrCorrupt if the bytes are not those of
// the digest, or not of the size given. What was read before that must not be
// trusted until io.EOF has been seen.
func OpenVerified(ctx context.Context, s Store, b Blob) (io.ReadCloser, error) {
	r, err := s.Open(ctx, b.SHA256)
	if err != nil {
		return nil, err
	}
	if r.Size() != b.SizeBytes {
		defer r.Close() // nothing was read or written
		return nil, fmt.Errorf("blob %s: %w: %d bytes, want %d", b.SHA256, ErrCorrupt, r.Size(), b.SizeBytes)
	}
	return &verifier{r: r, blob: b, hash: sha256.New()}, nil
}

// verifier hashes what passes and compares at the end.
type verifier struct {
	r    io.ReadCloser
	blob Blob
	hash hash.Hash
	size int64
	err  error
}

func (v *verifier) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.r.Read(p)
	v.hash.Write(p[:n])
	v.size += int64(n)
	switch {
	case v.size > v.blob.SizeBytes:
		v.err = fmt.Errorf("blob %s: %w: longer than %d bytes", v.blob.SHA256, ErrCorrupt, v.blob.SizeBytes)
	case err == io.EOF:
		v.err = v.verdict()
	default:
		v.err = err
	}
	return n, v.err
}

func (v *verifier) verdict() error {
	if v.size != v.blob.SizeBytes {
		return fmt.Errorf("blob %s: %w: %d bytes, want %d", v.blob.SHA256, ErrCorrupt, v.size, v.blob.SizeBytes)
	}
	if got := hex.EncodeToString(v.hash.Sum(nil)); got != v.blob.SHA256 {
		return fmt.Errorf("blob %s: %w: its bytes have digest %s", v.blob.SHA256, ErrCorrupt, got)
	}
	return io.EOF
}

func (v *verifier) Close() error { return v.r.Close() }
