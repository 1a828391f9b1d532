package shards

import (
	"bufio"
	"bytes"
	"context"

	"scimesh.dev/scimesh/workloads"
)

// ValidText replaces bytes that are not UTF-8 by U+FFFD.
func ValidText(b []byte) []byte { return bytes.ToValidUTF8(b, []byte("\ufffd")) }

// Output is a buffered file of Files that may not have been created yet.
type Output struct {
	file workloads.FileWriter
	buf  *bufio.Writer
}

// Open reports whether a file has been created and neither committed nor dropped.
func (o *Output) Open() bool { return o.file != nil }

// Create begins a file.
func (o *Output) Create(ctx context.Context, files workloads.Files, name, contentType string) error {
	file, err := files.Create(ctx, name, contentType)
	if err != nil {
		return err
	}
	o.file = file
	if o.buf == nil {
		o.buf = bufio.NewWriterSize(file, 64<<10)
	} else {
		o.buf.Reset(file)
	}
	return nil
}

// Add writes its arguments in turn; bufio keeps the first error for later.
func (o *Output) Add(a []byte, b string, c []byte, d string) error {
	_, _ = o.buf.Write(a)
	_, _ = o.buf.WriteString(b)
	_, _ = o.buf.Write(c)
	_, err := o.buf.WriteString(d)
	return err
}

// Commit ends the file.
func (o *Output) Commit() (workloads.File, error) {
	defer o.Abort()
	if err := o.buf.Flush(); err != nil {
		return workloads.File{}, err
	}
	return o.file.Commit()
}

// Abort drops the file unless it was committed.
func (o *Output) Abort() {
	if o.file != nil {
		o.file.Abort()
		o.file = nil
	}
}
