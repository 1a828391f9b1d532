package artifacts

import (
	"fmt"
)

// DigestLen is the length of a SHA-256 digest in hexadecimal digits.
const DigestLen = 64

// CheckDigest returns ErrInvalidDigest unless s is a SHA-256 digest in the one
// form that names a blob: 64 lowercase hexadecimal digits.
func CheckDigest(s string) error {
	if len(s) != DigestLen {
		return fmt.Errorf("%w: %d characters, want %d", ErrInvalidDigest, len(s), DigestLen)
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return fmt.Errorf("%w: %q at offset %d", ErrInvalidDigest, c, i)
		}
	}
	return nil
}
