// Package similaritysearch finds the molecules of a table that are most
// similar, or least similar, to a query molecule.
//
// Similarity is the Tanimoto coefficient of Morgan fingerprints of radius 2 and
// 2048 bits, unless the Job says otherwise: the number of common on bits over the
// number of bits on in either. Two fingerprints without an on bit have similarity 1.
// It stays a pair of integers until the final file is written; pairs and the
// threshold are compared as exact ratios. So it is with the other measures, which
// come from the same integers and the number of the query's on bits.
//
// # What is found
//
// Every row is read, in order, and ends in one place of the ledger:
//
//   - rejected, by the table's reasons (too few columns, …), or as InvalidSMILES
//     if RDKit would not accept it, or as EngineLimit if it would take too much
//     work;
//   - excluded as QueryMolecule: its id is query_id, or its SMILES spells the
//     query molecule. An input of fingerprints has no structures to compare, so
//     there the id alone counts;
//   - scored. Scored rows whose similarity is at least the threshold (with
//     threshold_direction less: at most) are hits.
//
// Hits are ordered by similarity, descending (less: ascending), then by id, then
// by SMILES, and the first top_k are kept. Text is compared by code point, which
// for UTF-8 is the order of the bytes, which is the order of Go strings. Rows
// that agree in all three print the same line, so their order cannot be seen.
//
// # Files
//
// A shard is a table of the two columns with LF line ends, holding the rows of a
// span of the input that the planner did not reject; of an input in FPS it is FPS.
//
// A partial result is a CSV file (package csvfile) of the records
//
//	record,row,chembl_id,canonical_smiles,common,union,detail
//	hit,,ID,SMILES,17,31,              in final order, at most top_k
//	reject,12,ID,,,,InvalidSMILES      by ascending row of the shard, from 1
//	count,50,,,,,read                  read, scored, excluded:REASON, rejected:REASON
//	end,,,,,,
//
// so a file that was cut off is recognised, and every row of the shard is
// accounted for: read = scored + excluded + rejected. Counts other than read and
// scored are left out when zero.
//
// Where there are many queries, hits carry the number of theirs in the column row,
// and follow each other by it. Every valid row is scored then: a row that is one
// query's own molecule is left out of that query's hits alone.
//
// The final file is a CSV file rank,chembl_id,canonical_smiles,similarity, with a
// column query_id before them where there are many queries. The
// similarity is the quotient as a double, printed with six decimals, which is
// what RDKit and Python print. Rejects are row,chembl_id,reason with the row
// number in the input, data rows counted from 1.
//
// # Memory
//
// Execute and Reduce hold top_k hits of each query, some 150 bytes each, of which
// there are at most a million; Execute also holds a few batches of rows
// for each thread and the rejects of its shard; with many queries also a block of
// 32,768 rows and an index of their fingerprints, about 100 MB at 8192 bits. Reduce has one partial result
// open at a time.
package similaritysearch
