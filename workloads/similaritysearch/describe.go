package similaritysearch

import (
	"encoding/json"

	v1 "scimesh.dev/scimesh/api/v1"
)

// Name is the name of the workload in a Job.
const Name = "similarity-search"

// parametersSchema describes what Validate accepts.
const parametersSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "oneOf": [{"required": ["query_id"]}, {"required": ["query_smiles"]}, {"required": ["queries"]}],
  "properties": {
    "query_id": {
      "title": "Query id", "type": "string", "minLength": 1, "maxLength": 1000,
      "description": "chembl_id of the query molecule, which is looked up in the whole input. Give this or query_smiles."
    },
    "query_smiles": {
      "title": "Query SMILES", "type": "string", "minLength": 1, "maxLength": 100000,
      "description": "The query molecule as a SMILES string. Give this or query_id."
    },
    "queries": {
      "title": "Queries",
      "description": "Many queries at once, at most 10000: a list of {id, smiles}, or {sha256} of an uploaded file of them (TSV, CSV, SMI, FPS), or at the command line {path}. Each has top_k hits; the result begins with a column query_id.",
      "anyOf": [
        {"type": "array", "minItems": 1, "maxItems": 10000, "items": {
          "type": "object", "additionalProperties": false, "required": ["id", "smiles"],
          "properties": {
            "id": {"type": "string", "minLength": 1, "maxLength": 1000},
            "smiles": {"type": "string", "minLength": 1, "maxLength": 100000}
          }
        }},
        {"type": "object", "additionalProperties": false, "required": ["sha256"],
          "properties": {"sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}}
      ]
    },
    "top_k": {
      "title": "Hits", "type": "integer", "minimum": 1, "maximum": 1000000, "default": 20,
      "description": "The largest number of hits."
    },
    "threshold": {
      "title": "Threshold",
      "description": "Only molecules at least this similar are hits (at most, with threshold_direction less). A decimal between 0 and 1, compared exactly.",
      "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "string", "pattern": "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
      ]
    },
    "threshold_direction": {
      "title": "Direction", "enum": ["greater", "less"], "default": "greater",
      "description": "greater finds the most similar molecules, less the least similar."
    },
    "measure": {
      "title": "Measure", "enum": ["tanimoto", "dice", "cosine", "tversky"], "default": "tanimoto",
      "description": "How similar two fingerprints are, with a bits on in the query, b in the molecule and c in common: tanimoto c/(a+b-c), dice 2c/(a+b), cosine c/sqrt(ab), tversky c/(c+alpha(a-c)+beta(b-c))."
    },
    "alpha": {
      "title": "Alpha",
      "description": "With measure tversky: the weight of bits that only the query has. A decimal from 0 to 1000 with at most six places.",
      "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1000},
        {"type": "string", "pattern": "^[0-9]{1,4}(\\.[0-9]+)?$"}
      ]
    },
    "beta": {
      "title": "Beta",
      "description": "With measure tversky: the weight of bits that only the molecule has. A decimal from 0 to 1000 with at most six places.",
      "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1000},
        {"type": "string", "pattern": "^[0-9]{1,4}(\\.[0-9]+)?$"}
      ]
    },
    "fingerprint": {
      "title": "Fingerprint", "type": "object", "additionalProperties": false,
      "description": "Which Morgan fingerprint is compared: its radius and its number of bits, a multiple of 64.",
      "properties": {
        "radius": {"title": "Radius", "type": "integer", "minimum": 0, "maximum": 4, "default": 2},
        "bits": {"title": "Bits", "type": "integer", "minimum": 64, "maximum": 8192, "multipleOf": 64, "default": 2048}
      }
    },
    "max_rows": {
      "title": "Rows", "type": "integer", "minimum": 1,
      "description": "Search only the first rows of the input; rows that cannot be used count. Default: all."
    }
  }
}`

// Name returns Name.
func (w *Workload) Name() string { return Name }

// Describe says what the workload takes and gives.
func (w *Workload) Describe() v1.WorkloadSpec {
	return v1.WorkloadSpec{
		Version: "1",
		Description: "Finds the molecules of a table that are most similar to a query molecule, " +
			"by Tanimoto similarity of Morgan fingerprints (radius 2, 2048 bits) or by another measure of others.",
		ParametersSchema: json.RawMessage(parametersSchema),
		Inputs: []string{
			"TSV or CSV with a header and columns such as chembl_id and canonical_smiles; plain, gzip or zstd",
			"SMI: a SMILES, white space and a title; plain, gzip or zstd",
			"FPS: fingerprints of the type that is compared; plain, gzip or zstd",
		},
		Outputs: []string{
			"result.csv: rank,chembl_id,canonical_smiles,similarity; with many queries, query_id before them",
			"rejects.csv: row,chembl_id,reason",
		},
	}
}
