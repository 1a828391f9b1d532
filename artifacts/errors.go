package artifacts

import "errors"

// The errors of a Store, matched with errors.Is.
var (
	// ErrNotFound: no blob has this digest.
	ErrNotFound = errors.New("blob not found")

	// ErrInvalidDigest: not 64 lowercase hexadecimal digits.
	ErrInvalidDigest = errors.New("invalid SHA-256 digest")

	// ErrDigestMismatch: the bytes written are not those announced.
	ErrDigestMismatch = errors.New("SHA-256 differs from the one expected")

	// ErrTooLarge: more bytes were written than the limit allows.
	ErrTooLarge = errors.New("blob exceeds its size limit")

	// ErrNoSpace: the medium is full.
	ErrNoSpace = errors.New("no space left in the artifact store")

	// ErrCorrupt: the bytes stored are not those of the digest.
	ErrCorrupt = errors.New("stored blob is corrupt")
)
