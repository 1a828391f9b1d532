package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/fps"
	"scimesh.dev/scimesh/cmd/scimesh/internal/fingerprints"
	"scimesh.dev/scimesh/cmd/scimesh/internal/printer"
	"scimesh.dev/scimesh/workloads/csvfile"
	"scimesh.dev/scimesh/workloads/table"
)

// fingerprintOptions are what `fingerprint` is told.
type fingerprintOptions struct {
	*session
	input        string
	output       string
	rejects      string
	format       string
	idColumn     string
	smilesColumn string
	kind         fps.Type
	threads      int
	noDate       bool
}

func newFingerprint(s *session) *cobra.Command {
	o := &fingerprintOptions{session: s}
	cmd := &cobra.Command{
		Use:   "fingerprint FILE -o FILE",
		Short: "Write the Morgan fingerprints of molecules as an FPS file",
		Long: `Write the Morgan fingerprints of molecules as an FPS file, the format of chemfp.
They are RDKit's, bit for bit. What a search reads can be read: TSV or CSV with a
header, lines of a SMILES and a title, plain or compressed with gzip or zstd; - is
standard input.

Rows without a valid SMILES or without an id are left out. They are told on standard
error, or written to the file of --rejects, with their number and the reason. The
output is compressed if its name ends in .gz or .zst. It is the same for any number
of threads.`,
		Example: `  scimesh fingerprint chembl_37_chemreps.txt.gz -o chembl_37.fps.gz
  scimesh fingerprint drugs.smi -o - --bits 1024 --radius 3 --no-date`,
	}
	cmd.RunE = s.run(o)
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "", "file of the fingerprints, or - for standard output (required)")
	flags.StringVar(&o.rejects, "rejects", "", "file of the rows that were rejected")
	flags.StringVar(&o.format, "format", "", "format of the input: tsv, csv or smi (default: found out)")
	flags.StringVar(&o.idColumn, "id-column", "", "name or number of the column with ids (default: found out)")
	flags.StringVar(&o.smilesColumn, "smiles-column", "", "name or number of the column with SMILES (default: found out)")
	flags.IntVar(&o.kind.Radius, "radius", chem.DefaultRadius, "radius, 0 to 4")
	flags.IntVar(&o.kind.Bits, "bits", chem.DefaultBits, "number of bits, a multiple of 64 from 64 to 8192")
	flags.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "threads that compute")
	flags.BoolVar(&o.noDate, "no-date", false, "leave out the date, so that equal inputs give equal files")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"tsv", "csv", "smi"}, cobra.ShellCompDirectiveNoFileComp)) // fails only for flags that do not exist
	return cmd
}

// Complete takes the input file.
func (o *fingerprintOptions) Complete(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("one input file is expected, got %d", len(args))
	}
	o.input = args[0]
	return nil
}

// Validate checks the flags.
func (o *fingerprintOptions) Validate() error {
	switch {
	case o.output == "":
		return errors.New("-o: which file is to be written?")
	case o.rejects != "" && (o.rejects == o.output || filepath.Clean(o.rejects) == filepath.Clean(o.output)):
		return errors.New("--rejects: the fingerprints go there")
	case o.format != "" && o.format != string(table.TSV) && o.format != string(table.CSV) && o.format != string(table.SMI):
		return fmt.Errorf("--format: %q is none of tsv, csv, smi", o.format)
	case o.format == string(table.SMI) && (o.idColumn != "" || o.smilesColumn != ""):
		return errors.New("--format smi: it has no columns to name")
	case o.threads < 1:
		return errors.New("--threads: at least 1")
	}
	return fingerprints.Validate(o.kind)
}

// Run computes.
func (o *fingerprintOptions) Run(ctx context.Context) error {
	in, source, err := o.open()
	if err != nil {
		return err
	}
	defer in.Close()
	t, err := table.NewReader(in, table.Options{Format: table.Format(o.format), IDColumn: o.idColumn, SMILESColumn: o.smilesColumn})
	if err != nil {
		return o.about(err)
	}
	defer t.Close()
	if t.Layout().Format == table.FPS {
		return o.about(errors.New("it holds fingerprints already"))
	}
	o.note("input: %s", printer.Safe(t.Layout().String()))

	out, err := o.create(o.output)
	if err != nil {
		return err
	}
	defer out.abort()
	rejects, err := o.create(o.rejects)
	if err != nil {
		return err
	}
	defer rejects.abort()
	left := &rejectList{o: o, file: rejects}
	counts, err := o.write(ctx, t, source, out, left)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return o.about(err)
	}
	if err := errors.Join(out.commit(), rejects.commit()); err != nil {
		return err
	}
	left.end()
	o.note("%d fingerprints; %d of %d rows rejected", counts.Written, counts.Read-counts.Written, counts.Read)
	return nil
}

// about names the input in an error.
func (o *fingerprintOptions) about(err error) error {
	return fmt.Errorf("%s: %w", printer.Safe(o.input), err)
}

// open opens the input; source is its name in the header, which has no folder.
func (o *fingerprintOptions) open() (in io.ReadCloser, source string, err error) {
	if o.input == "-" {
		return io.NopCloser(o.In), "", nil
	}
	f, err := os.Open(o.input)
	return f, filepath.Base(o.input), err
}

// write writes the whole file, compressed as its name asks for.
func (o *fingerprintOptions) write(ctx context.Context, t *table.Reader, source string, out io.Writer, rejects *rejectList) (fingerprints.Counts, error) {
	header := fps.Header{Bits: o.kind.Bits, Type: o.kind.String(), Software: chem.EngineName}
	if source != "" {
		header.Sources = []string{source}
	}
	if !o.noDate {
		header.Date = o.now().UTC().Format("2006-01-02T15:04:05")
	}
	w, err := compressed(out, o.output)
	if err != nil {
		return fingerprints.Counts{}, err
	}
	if _, err := w.Write(header.Append(nil)); err != nil {
		return fingerprints.Counts{}, errors.Join(err, w.Close())
	}
	counts, err := fingerprints.Write(ctx, w, t, fingerprints.Options{Type: o.kind, Threads: o.threads, Rejected: rejects.add})
	return counts, errors.Join(err, w.Close())
}

// compressed wraps a writer as the name of its file asks for. Closing it does not
// close the writer. What is written does not depend on the machine.
func compressed(w io.Writer, name string) (io.WriteCloser, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz":
		return gzip.NewWriter(w), nil
	case ".zst":
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return uncompressed{w}, nil
}

type uncompressed struct{ io.Writer }

func (uncompressed) Close() error { return nil }

// rejectList writes rejected rows to a file, or tells the first of them.
type rejectList struct {
	o    *fingerprintOptions
	file io.Writer
	rows int
	line []byte
}

// maxToldRejects bounds the rejected rows that are told one by one.
const maxToldRejects = 20

func (l *rejectList) add(r fingerprints.Reject) error {
	l.rows++
	if l.o.rejects == "" {
		if l.rows <= maxToldRejects {
			l.o.note("row %d (%s) rejected: %s", r.Row, printer.Safe(shortened(string(r.ID))), r.Reason)
		}
		return nil
	}
	l.line = l.line[:0]
	if l.rows == 1 {
		l.line = csvfile.AppendRecord(l.line, "row", "chembl_id", "reason")
	}
	l.line = csvfile.AppendRecord(l.line, strconv.FormatInt(r.Row, 10), strings.ToValidUTF8(string(r.ID), "\ufffd"), r.Reason)
	_, err := l.file.Write(l.line)
	return err
}

// end tells how many were not told.
func (l *rejectList) end() {
	if l.o.rejects == "" && l.rows > maxToldRejects {
		l.o.note("%d further rows rejected; --rejects FILE lists them", l.rows-maxToldRejects)
	}
}

// shortened is the beginning of a long id.
func shortened(id string) string {
	const most = 60
	if len(id) > most {
		return id[:most] + "…"
	}
	return id
}
