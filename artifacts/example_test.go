package artifacts_test

import (
	"context"
	"fmt"
	"io"
	"log" //nolint:depguard // an example shows what its reader would write
	"os"
	"strings"

	"scimesh.dev/scimesh/artifacts"
	"scimesh.dev/scimesh/artifacts/filesystem"
)

// A body that arrives is put, and read back with its bytes checked.
func ExamplePut() {
	dir, err := os.MkdirTemp("", "artifacts")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := filesystem.New(dir, filesystem.Options{})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	body := strings.NewReader("rank,chembl_id,canonical_smiles,similarity\r\n")
	blob, err := artifacts.Put(ctx, store, body, artifacts.PutOptions{MaxBytes: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(blob.SHA256[:12], blob.SizeBytes)

	r, err := artifacts.OpenVerified(ctx, store, blob)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r) // an error here if the bytes are not those of the digest
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", data)
	// Output:
	// a6892c040b6e 44
	// "rank,chembl_id,canonical_smiles,similarity\r\n"
}

// A reducer writes its result as it merges.
func ExampleWriter() {
	dir, err := os.MkdirTemp("", "artifacts")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := filesystem.New(dir, filesystem.Options{})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	w, err := store.Create(ctx, artifacts.PutOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort() //nolint:errcheck // does nothing after Commit
	for i := range 3 {
		if _, err := fmt.Fprintf(w, "row %d\n", i); err != nil {
			log.Fatal(err)
		}
	}
	blob, err := w.Commit(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(blob.SizeBytes, "bytes")
	// Output: 18 bytes
}
