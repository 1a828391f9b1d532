// Package wire holds the bodies and parameters of the HTTP contract, generated
// from openapi.yaml.
package wire

import v1 "scimesh.dev/scimesh/api/v1"

// Bodies of requests are decoded strictly wherever they are decoded: unknown
// fields, duplicates and wrong types are a *v1.InvalidError that names each.

// UnmarshalJSON decodes strictly.
func (r *RegisterRequest) UnmarshalJSON(data []byte) error {
	type plain RegisterRequest
	return v1.UnmarshalStrict(data, (*plain)(r))
}

// UnmarshalJSON decodes strictly.
func (r *ClaimRequest) UnmarshalJSON(data []byte) error {
	type plain ClaimRequest
	return v1.UnmarshalStrict(data, (*plain)(r))
}

// UnmarshalJSON decodes strictly.
func (r *HeartbeatRequest) UnmarshalJSON(data []byte) error {
	type plain HeartbeatRequest
	return v1.UnmarshalStrict(data, (*plain)(r))
}

// UnmarshalJSON decodes strictly.
func (r *ResultRequest) UnmarshalJSON(data []byte) error {
	type plain ResultRequest
	return v1.UnmarshalStrict(data, (*plain)(r))
}

// UnmarshalJSON decodes strictly.
func (r *FailureRequest) UnmarshalJSON(data []byte) error {
	type plain FailureRequest
	return v1.UnmarshalStrict(data, (*plain)(r))
}

// UnmarshalJSON decodes strictly.
func (r *ReleaseRequest) UnmarshalJSON(data []byte) error {
	type plain ReleaseRequest
	return v1.UnmarshalStrict(data, (*plain)(r))
}
