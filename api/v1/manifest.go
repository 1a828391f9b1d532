package v1

// JobManifest is a Job as its author sends it: the same fields, decoded
// strictly. Its status, and the metadata that the coordinator sets, are ignored.
type JobManifest Job

// UnmarshalJSON decodes strictly; see UnmarshalStrict.
func (m *JobManifest) UnmarshalJSON(data []byte) error {
	return UnmarshalStrict(data, (*Job)(m))
}
