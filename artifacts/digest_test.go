package artifacts_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/artifactstest"
)

func TestCheckDigestRefuses(t *testing.T) {
	for name, key := range artifactstest.InvalidDigests {
		if err := artifacts.CheckDigest(key); !errors.Is(err, artifacts.ErrInvalidDigest) {
			t.Errorf("%s: %v, want ErrInvalidDigest", name, err)
		}
	}
}

func FuzzCheckDigest(f *testing.F) {
	f.Add(strings.Repeat("0123456789abcdef", 4))
	for _, key := range artifactstest.InvalidDigests {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		raw, err := hex.DecodeString(key)
		want := err == nil && len(raw) == 32 && hex.EncodeToString(raw) == key
		if got := artifacts.CheckDigest(key) == nil; got != want {
			t.Errorf("CheckDigest(%q) accepts: %v, want %v", key, got, want)
		}
	})
}
