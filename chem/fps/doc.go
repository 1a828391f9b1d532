// Package fps reads and writes FPS files, the text format of chemfp for binary
// fingerprints (https://chemfp.com/fps_format/), in which ChEMBL publishes its
// Morgan fingerprints and which most fingerprint tools exchange:
//
//	#FPS1
//	#num_bits=2048
//	#type=RDKit-Morgan/1 radius=2 fpSize=2048 useFeatures=0 useChirality=0 useBondTypes=1
//	#software=RDKit/2022.09.4
//	#source=chembl_34.sdf.gz
//	#date=2024-03-01T12:00:00
//	00000400…0000	CHEMBL25
//
// Lines end with LF or CRLF. The first is #FPS1; those after it that begin with #
// are key=value pairs, of which unknown ones are passed over. Every other line is
// a fingerprint in hexadecimal, a tab, an id, and perhaps further columns, which
// are not read. Bit i is bit i%8 of byte i/8, bytes in the order of writing. Blank
// lines after the header are no records.
//
// Nothing here decompresses: give the reader plain text. A reader holds one line,
// of at most its limit; a longer one is passed over without being held.
package fps
