//go:build linux

package main

import (
	"io"
	"testing"
	"testing/iotest"
)

func TestTableIsTheSameHoweverItIsRead(t *testing.T) {
	whole, err := io.ReadAll(newTable(5000))
	if err != nil {
		t.Fatal(err)
	}
	if want := len(header) + 5000/rowLen*rowLen; len(whole) != want {
		t.Errorf("%d bytes, want %d", len(whole), want)
	}
	if err := iotest.TestReader(newTable(5000), whole); err != nil {
		t.Error(err)
	}
}
