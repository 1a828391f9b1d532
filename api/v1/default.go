package v1

import "encoding/json"

// Defaults and bounds of a JobSpec.
const (
	DefaultShardRows   = 100_000
	DefaultMaxAttempts = 3

	MaxMaxAttempts = 100
	MaxPriority    = 1000
	MaxShardRows   = 1_000_000_000
	MaxSeconds     = 10 * 365 * 24 * 3600 // of a deadline or time to live
	MaxChunks      = 100_000
	MaxParameters  = 64 << 10 // bytes of JSON
	MaxAnnotations = 64 << 10 // bytes of all keys and values
	MaxLabels      = 64
	MaxChunkURI    = 2048 // bytes
)

// Default fills in what the author left out.
func Default(j *Job) {
	if j.Spec.MaxAttempts == 0 {
		j.Spec.MaxAttempts = DefaultMaxAttempts
	}
	if j.Spec.Sharding.Rows == 0 {
		j.Spec.Sharding.Rows = DefaultShardRows
	}
	if len(j.Spec.Parameters) == 0 || string(j.Spec.Parameters) == "null" {
		j.Spec.Parameters = json.RawMessage("{}")
	}
}
