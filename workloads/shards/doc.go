// Package shards holds what workloads over a table of molecules have in common:
// cutting the table into shards, and accounting for its rows in the end.
//
// A shard is a table of the two columns with LF line ends, holding the rows of
// a span of the input that could be used. Rows that could not are listed in the
// planner's rejects, a TSV file row, id, reason by ascending row. So the row of
// the input in which a row of a shard stood is found by reading that list along
// with the shards: see [RowMap].
package shards
