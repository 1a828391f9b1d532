package workloads

import (
	"encoding/json"
	"fmt"
	"maps"
)

// MergeParameters returns the parameters that a worker gets: the fields of
// shared with those of own on top. Either may be empty. The fields of the
// result are in ascending order, so equal inputs give equal bytes.
func MergeParameters(shared, own json.RawMessage) (json.RawMessage, error) {
	merged := map[string]json.RawMessage{}
	for _, layer := range []json.RawMessage{shared, own} {
		if len(layer) == 0 {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(layer, &fields); err != nil {
			return nil, fmt.Errorf("merge task parameters: %w", err)
		}
		maps.Copy(merged, fields)
	}
	return json.Marshal(merged)
}
