// Package blocks holds the molecules of a shard as a file that can be compared
// at once, without reading a SMILES: an index of their fingerprints, and a table
// of who they are.
//
// # The file
//
//	magic    16 bytes, "scimesh block 1\n"
//	length   u64 little-endian, of the index
//	index    a file of package chem/tanimoto, whose row n is the nth molecule
//	table    a CSV file (package csvfile) of the records
//
//	record,row,chembl_id,canonical_smiles,detail
//	molecule,12,ID,SMILES,               by ascending row of the shard, from 1
//	reject,13,ID,,InvalidSMILES          likewise
//	count,50,,,read                      read, scored, rejected:REASON
//	end,,,,
//
// A file that was cut off is recognised by its missing end, and every row of the
// shard is accounted for: read = scored + rejected, scored being the molecules.
// Equal shards make equal files.
package blocks

import (
	"scimesh.dev/scimesh/chem"
	"scimesh.dev/scimesh/chem/fps"
	"scimesh.dev/scimesh/chem/tanimoto"
)

const (
	magic = "scimesh block 1\n"
	// ContentType is that of a block.
	ContentType = "application/vnd.scimesh.block"
	// Bits is the size of a fingerprint.
	Bits = chem.DefaultBits
)

// Origin says what the fingerprints of blocks are and what made them.
var Origin = tanimoto.Origin{Type: Type.String(), Engine: chem.EngineName}

// Type is the kind of fingerprint in blocks.
var Type = fps.Type{Radius: chem.DefaultRadius, Bits: Bits}

// Kinds of records.
const (
	kindMolecule = "molecule"
	kindReject   = "reject"
	kindCount    = "count"
	kindEnd      = "end"
)

// Names of counts.
const (
	countRead     = "read"
	countScored   = "scored"
	countRejected = "rejected:"
)

// header names the columns of the table.
var header = []string{"record", "row", "chembl_id", "canonical_smiles", "detail"}
