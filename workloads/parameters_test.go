package workloads

import (
	"encoding/json"
	"testing"
)

func TestMergeParameters(t *testing.T) {
	for name, tc := range map[string]struct {
		shared, own string
		want        string
		wantErr     bool
	}{
		"nothing at all":                {want: `{}`},
		"own fields win":                {shared: `{"b":1,"a":[2]}`, own: `{"b":3}`, want: `{"a":[2],"b":3}`},
		"an explicit null is kept":      {shared: `{"a":1}`, own: `{"a":null}`, want: `{"a":null}`},
		"numbers are not touched":       {shared: `{"a":0.10,"b":12345678901234567890}`, want: `{"a":0.10,"b":12345678901234567890}`},
		"null counts as nothing":        {shared: `{"a":1}`, own: `null`, want: `{"a":1}`},
		"own that is an array is wrong": {own: `[1]`, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := MergeParameters(json.RawMessage(tc.shared), json.RawMessage(tc.own))
			if (err != nil) != tc.wantErr {
				t.Fatalf("error %v, want one: %v", err, tc.wantErr)
			}
			if string(got) != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
