package chem_test

import (
	"testing"

	"scimesh.dev/scimesh/chem"
)

func TestTypeNamesTheFingerprint(t *testing.T) {
	for want, o := range map[string]chem.Options{
		"Morgan radius=2 bits=2048": {},
		"Morgan radius=0 bits=64":   {Radius: chem.RadiusZero, Bits: 64},
		"Morgan radius=4 bits=8192": {Radius: 4, Bits: 8192, MaxLength: 5},
	} {
		if got := o.String(); got != want {
			t.Errorf("%#v is named %q, want %q", o, got, want)
		}
		parsed, err := chem.ParseType(want)
		if err != nil || parsed.String() != want {
			t.Errorf("%q was read as %q, error %v", want, parsed, err)
		}
	}
	for _, s := range []string{"", "Morgan", "Morgan radius=2", "Morgan radius=2 bits=2048 ", "Morgan radius=+2 bits=2048",
		"Morgan radius=5 bits=2048", "Morgan radius=-1 bits=2048", "Morgan radius=2 bits=0", "Morgan radius=2 bits=100", "morgan radius=2 bits=2048"} {
		if o, err := chem.ParseType(s); err == nil {
			t.Errorf("%q was read as %q", s, o)
		}
	}
}
