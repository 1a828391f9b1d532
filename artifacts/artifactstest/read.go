package artifactstest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"scimesh.dev/scimesh/artifacts"
)

// InvalidDigests are keys that no store may accept.
var InvalidDigests = map[string]string{
	"empty":          "",
	"too short":      strings.Repeat("a", 63),
	"too long":       strings.Repeat("a", 65),
	"upper case":     strings.Repeat("A", 64),
	"not hex":        strings.Repeat("g", 64),
	"parent folder":  "../" + strings.Repeat("a", 61),
	"absolute path":  "/" + strings.Repeat("a", 63),
	"NUL byte":       strings.Repeat("a", 63) + "\x00",
	"line feed":      strings.Repeat("a", 63) + "\n",
	"wide digits":    strings.Repeat("０", 21) + "0",
	"algorithm name": "sha256:" + strings.Repeat("a", 57),
}

// everyMethod calls each method that takes a digest.
func everyMethod(ctx context.Context, s artifacts.Store, sha256 string) map[string]error {
	errs := map[string]error{}
	_, errs["Open"] = s.Open(ctx, sha256)
	_, errs["OpenVerified"] = artifacts.OpenVerified(ctx, s, artifacts.Blob{SHA256: sha256})
	_, errs["Stat"] = s.Stat(ctx, sha256)
	errs["Delete"] = s.Delete(ctx, sha256)
	_, errs["DeleteIfOlder"] = s.DeleteIfOlder(ctx, sha256, time.Now())
	return errs
}

func testInvalidDigest(t *testing.T, s artifacts.Store) {
	mustPut(t, s, []byte("bystander"))
	for name, key := range InvalidDigests {
		for method, err := range everyMethod(t.Context(), s, key) {
			if !errors.Is(err, artifacts.ErrInvalidDigest) {
				t.Errorf("%s of a digest that is %s: %v, want ErrInvalidDigest", method, name, err)
			}
		}
	}
	mustHold(t, s, []byte("bystander"))
}

func testNotFound(t *testing.T, s artifacts.Store) {
	mustPut(t, s, []byte("bystander"))
	absent := blobOf([]byte("never put")).SHA256
	for method, err := range everyMethod(t.Context(), s, absent) {
		if strings.HasPrefix(method, "Delete") {
			if err != nil {
				t.Errorf("%s: %v, want no error", method, err)
			}
		} else if !errors.Is(err, artifacts.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", method, err)
		}
	}
}

func testContext(t *testing.T, s artifacts.Store) {
	blob := mustPut(t, s, []byte("data"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errs := everyMethod(ctx, s, blob.SHA256)
	_, errs["Create"] = s.Create(ctx, artifacts.PutOptions{})
	for _, err := range s.List(ctx) {
		errs["List"] = err
	}
	for method, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", method, err)
		}
	}
	mustHold(t, s, []byte("data"))
}

func testHTTPRange(t *testing.T, s artifacts.Store) {
	data := randomBytes(3, 200_000)
	blob := mustPut(t, s, data)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r, err := s.Open(req.Context(), blob.SHA256)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer r.Close() // read only
		w.Header().Set("ETag", `"`+blob.SHA256+`"`)
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, req, "", time.Time{}, r)
	}))
	defer srv.Close()

	for _, tc := range []struct {
		name, header, value string
		wantStatus          int
		want                []byte
	}{
		{"whole", "", "", http.StatusOK, data},
		{"from the middle", "Range", "bytes=150000-", http.StatusPartialContent, data[150_000:]},
		{"inner part", "Range", "bytes=10-65545", http.StatusPartialContent, data[10:65546]},
		{"the last bytes", "Range", "bytes=-5", http.StatusPartialContent, data[199_995:]},
		{"past the end", "Range", "bytes=200000-", http.StatusRequestedRangeNotSatisfiable, nil},
		{"already known", "If-None-Match", `"` + blob.SHA256 + `"`, http.StatusNotModified, []byte{}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.header != "" {
			req.Header.Set(tc.header, tc.value)
		}
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close() // read to its end
		if err != nil || resp.StatusCode != tc.wantStatus || tc.want != nil && !bytes.Equal(body, tc.want) {
			t.Errorf("%s: status %d with %d bytes, %v; want %d with %d", tc.name, resp.StatusCode, len(body), err, tc.wantStatus, len(tc.want))
		}
	}
}

func testVerified(t *testing.T, s artifacts.Store) {
	eachSize(t, func(t *testing.T, data []byte) {
		blob := mustPut(t, s, data)
		r, err := s.Open(t.Context(), blob.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close() // read only
		if r.Size() != blob.SizeBytes {
			t.Errorf("size %d, want %d", r.Size(), blob.SizeBytes)
		}
		mustHold(t, s, data)
	})
}

func testVerifiedSize(t *testing.T, s artifacts.Store) {
	blob := mustPut(t, s, randomBytes(4, 1000))
	for _, off := range []int64{-1, 1} {
		wrong := artifacts.Blob{SHA256: blob.SHA256, SizeBytes: blob.SizeBytes + off}
		if _, err := read(t, s, wrong); !errors.Is(err, artifacts.ErrCorrupt) {
			t.Errorf("read as %d bytes: %v, want ErrCorrupt", wrong.SizeBytes, err)
		}
	}
}
