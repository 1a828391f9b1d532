package table

import (
	"errors"
	"io"
	"unicode/utf8"

	"scimesh.dev/scimesh/chem/fps"
	"scimesh.dev/scimesh/workloads"
)

// fingerprints reads FPS.
type fingerprints struct {
	file   *fps.Reader
	header fps.Header
}

func newFingerprints(r io.Reader) (*fingerprints, error) {
	file, err := fps.NewReader(r, 0)
	if wrong, ok := errors.AsType[*fps.HeaderError](err); ok {
		return nil, workloads.Errorf(workloads.ReasonInputInvalid, "%v", wrong)
	}
	if err != nil {
		return nil, err
	}
	return &fingerprints{file, file.Header()}, nil
}

func (f *fingerprints) next(row *Row) error {
	record, err := f.file.Next()
	if wrong, ok := errors.AsType[*fps.RecordError](err); ok {
		row.ID = wrong.ID
		switch {
		case errors.Is(wrong, fps.ErrLineTooLong):
			row.Reject = LineTooLong
		case errors.Is(wrong, fps.ErrNoID):
			row.Reject = TooFewColumns
		default:
			row.Reject = InvalidFingerprint
		}
		return nil
	}
	if err != nil {
		return err
	}
	row.ID = record.ID
	if !utf8.Valid(record.ID) {
		row.Reject = InvalidUTF8
		return nil
	}
	row.Fingerprint = record.Fingerprint
	return nil
}
