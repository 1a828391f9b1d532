// Package table reads molecule tables: text of tab-separated columns with a
// header, as ChEMBL publishes it, plain or compressed with gzip or zstd.
//
// # The format
//
// Lines end with LF or CRLF; the last one may lack its end. A lone CR is a
// character like any other. The first line that is not blank is the header; a
// UTF-8 byte order mark before it is ignored. The columns chembl_id and
// canonical_smiles must be there once each, in any place; all others are
// ignored and may hold any bytes. Nothing is quoted or escaped: a quotation
// mark is a character, and so is NUL. Blank lines are not rows and are not
// counted; every other line is a row, counted from 1. Both columns may be
// empty: an empty id is an id, and what an empty SMILES means is for the
// chemistry to say.
//
// A row that cannot be used is returned with the reason in Row.Reject, so that
// it can be accounted for: LineTooLong, TooFewColumns, InvalidUTF8 (in one of
// the two columns), examined in this order.
//
// # Memory
//
// A Reader holds one line at a time, of at most Options.MaxLineBytes; a longer
// one is passed over without being held. Decompression adds the window of the
// format: 32 KiB for gzip, and what the file asks for with zstd, at most
// maxWindow.
package table
