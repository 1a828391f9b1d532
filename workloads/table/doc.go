// Package table reads molecule tables in four formats, plain or compressed with
// gzip or zstd: tab-separated columns with a header, as ChEMBL publishes them;
// comma-separated ones; lines of a SMILES and a title; and fingerprints.
//
// # The formats
//
// Lines end with LF or CRLF; the last one may lack its end. A UTF-8 byte order mark
// at the beginning is ignored. Blank lines are not rows and are not counted; every
// other line is a row, counted from 1.
//
// TSV: the first line that is not blank is the header. Nothing is quoted or escaped:
// a quotation mark is a character, and so are NUL and a lone CR. Columns besides the
// two that are read may hold any bytes. Both columns may be empty: an empty id is an
// id, and what an empty SMILES means is for the chemistry to say.
//
// CSV: likewise, but quoted as in RFC 4180, so that a row may have several lines. A
// record with a quotation mark elsewhere is rejected as MalformedCSV, and one whose
// id or SMILES holds a tab or a line end as ControlCharacter.
//
// SMI: a SMILES, white space, and a title, up to a tab, which is the id. A CXSMILES
// extension belongs to the SMILES. The first line may be a header that begins with
// smiles.
//
// FPS: see package fps. Rows have a fingerprint and no SMILES.
//
// # Finding out
//
// Unless Options.Format says, a first line that begins with #FPS means FPS; one
// that holds names for both columns, separated by tabs or commas, means TSV or CSV;
// one that begins with a SMILES means SMI. The columns are chembl_id and
// canonical_smiles, or others that are called like an id and a SMILES usually are,
// or those that Options name. Options may also number columns from 1; then the first
// line is a row, and not a header, if it holds a SMILES in that place.
//
// A row that cannot be used is returned with the reason in Row.Reject, so that
// it can be accounted for: LineTooLong, TooFewColumns (in FPS: no id), InvalidUTF8
// (in one of the two columns), examined in this order, InvalidFingerprint, and those
// above.
//
// # Memory
//
// A Reader holds one line at a time, of at most Options.MaxLineBytes; a longer
// one is passed over without being held. Decompression adds the window of the
// format: 32 KiB for gzip, and what the file asks for with zstd, at most
// maxWindow.
package table
