package similaritygraph

import "encoding/json"

// Memory is the formula that Describe tells, an upper estimate: what is held may
// be there twice before the garbage collector comes by.
func (w *Workload) Memory(parameters json.RawMessage, inputs []int64) int64 {
	var total int64
	for _, n := range inputs {
		total += n
	}
	if p, _, err := decodeTask(parameters); err == nil && p.Pair != nil {
		return 160<<20 + 4*total
	}
	return 48<<20 + 16*total
}
