// Package similaritygraph finds all pairs of molecules of a table that are
// similar enough, or dissimilar enough: the edges of a graph.
//
// Similarity is that of package similaritysearch: the Tanimoto coefficient of
// Morgan fingerprints of radius 2 and 2048 bits, a pair of integers until the
// final file is written, compared with the threshold as exact ratios.
//
// # What is found
//
// The molecules are the rows of the input whose SMILES RDKit accepts; the others
// are rejected and listed. Every unordered pair of molecules is compared once. A
// pair whose similarity is at least the threshold (with threshold_direction less:
// at most) is an edge; its source is the molecule of the earlier row. Ids name
// the molecules, so an empty id, or one that two molecules have, fails the Job.
// Edges are ordered by source id, then target id, compared by code point. The
// result does not depend on the size of blocks.
//
// # How it is computed
//
// In two stages. The first makes a block (package blocks) of each shard of
// block_size rows, so that fingerprints are computed once, by workers. When all
// blocks are there the planner reads their tables, checks the ids, and adds one
// task for each pair of blocks i ≤ j, which reads these two blocks: with n
// blocks, chunk n is the pair (0,0), then come (0,1) … (0,n−1), (1,1) and so on.
// A pair of different blocks compares every molecule of the one with every one of
// the other, a block with itself its molecules in pairs.
//
// # Files
//
// The result of a pair of blocks is a CSV file (package csvfile) of the records
//
//	record,source,target,source_id,target_id,common,union
//	edge,17,203,CHEMBL25,CHEMBL112,17,31      by ascending ids
//	count,4950,,pairs,,,                      pairs compared
//	count,1,,edges,,,
//	end,,,,,,
//
// source and target number the molecules of the whole input from 0. So the reducer
// can check that an edge lies in its blocks, that its source comes first, and,
// since no two blocks share a molecule and ids are unique, that no pair is twice.
//
// The final file is a CSV file source_id,target_id,similarity with six decimals.
//
// # Memory
//
// A task of the first stage holds its block, about 450 bytes a molecule. A task
// of the second holds two blocks' fingerprints and ids, about 400 bytes a
// molecule, and 64 MiB of edges; more edges are sorted with temporary files. The
// planner holds 32 MiB of ids, the reducer one record each of 64 partial results:
// more of them are merged in several passes with temporary files.
package similaritygraph
