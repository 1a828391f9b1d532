package similaritygraph

import (
	"encoding/json"

	v1 "scimesh.dev/scimesh/api/v1"
)

// Name is the name of the workload in a Job.
const Name = "similarity-graph"

// parametersSchema describes what Validate accepts.
const parametersSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "threshold": {
      "title": "Threshold", "default": "0.7",
      "description": "Pairs at least this similar are edges (at most, with threshold_direction less). A decimal between 0 and 1, compared exactly.",
      "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "string", "pattern": "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
      ]
    },
    "threshold_direction": {
      "title": "Direction", "enum": ["greater", "less"], "default": "greater",
      "description": "greater joins similar molecules, less dissimilar ones."
    },
    "block_size": {
      "title": "Block size", "type": "integer", "minimum": 1, "maximum": 1000000,
      "description": "Input rows in a block; there is a task for each pair of blocks. Default: spec.sharding.rows. The result does not depend on it."
    },
    "max_rows": {
      "title": "Rows", "type": "integer", "minimum": 1,
      "description": "Take only the first rows of the input; rows that cannot be used count. Default: all."
    }
  }
}`

// Names of the files that are made on request.
const (
	formatGraphML    = "graphml"
	formatNodes      = "nodes"
	formatComponents = "components"
	formatClusters   = "clusters"
)

var formats = []v1.OutputFormat{
	{Name: formatGraphML, Filename: "graph.graphml", Description: "The graph in GraphML: nodes with SMILES, edges with similarity"},
	{Name: formatNodes, Filename: "nodes.csv", Description: "id,smiles,degree,component: all molecules, in the order of the input"},
	{Name: formatComponents, Filename: "components.csv", Description: "component,size,id: connected components, the largest first"},
	{Name: formatClusters, Filename: "clusters.csv", Description: "cluster,size,id,centroid: Butina clusters at the threshold"},
}

// Options configure the workload.
type Options struct {
	// MaxEdges is how many edges a Job may be expected to have; 0 is DefaultMaxEdges.
	MaxEdges int64
}

// DefaultMaxEdges is a result of about 7 GB.
const DefaultMaxEdges = 200_000_000

// Workload is the similarity graph. It is safe for concurrent use.
type Workload struct{ maxEdges int64 }

// New returns the workload.
func New(o Options) *Workload {
	if o.MaxEdges <= 0 {
		o.MaxEdges = DefaultMaxEdges
	}
	return &Workload{maxEdges: o.MaxEdges}
}

// Name returns Name.
func (w *Workload) Name() string { return Name }

// Describe says what the workload takes and gives.
func (w *Workload) Describe() v1.WorkloadSpec {
	return v1.WorkloadSpec{
		Version: "1",
		Description: "Finds all pairs of molecules of a table that are similar enough, " +
			"by Tanimoto similarity of Morgan fingerprints (radius 2, 2048 bits).",
		ParametersSchema: json.RawMessage(parametersSchema),
		Inputs: []string{
			"TSV or CSV with a header and columns such as chembl_id and canonical_smiles; plain, gzip or zstd",
			"SMI: a SMILES, white space and a title; plain, gzip or zstd",
			"FPS: fingerprints of radius 2 and 2048 bits; plain, gzip or zstd",
		},
		Outputs: []string{
			"result.csv: source_id,target_id,similarity",
			"rejects.csv: row,chembl_id,reason",
		},
		Formats: formats,
		Memory: "Making a block: 48 MiB and 16 bytes for each byte of the shard, which is about 1 KB a molecule. " +
			"Comparing a pair of blocks: 160 MiB and 4 bytes for each byte of the two blocks, which is about 0.5 KB a molecule.",
	}
}
