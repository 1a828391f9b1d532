package chem

import (
	"fmt"

	"scimesh.dev/scimesh/chem/morgan"
)

// RadiusZero as Options.Radius asks for radius 0, since 0 itself is the default.
const RadiusZero = -1

// Options are the parameters of the fingerprint.
type Options struct {
	// Radius is the number of rounds, 1 to 4; 0 means DefaultRadius and
	// RadiusZero none.
	Radius int
	// Bits is the length, a multiple of 64 from 64 to 8192; 0 means DefaultBits.
	Bits int
	// MaxLength is the longest string that is read, in bytes; longer ones are
	// refused with the step EngineLimit. 0 means DefaultMaxLength. Memory grows
	// with the longest string read, by about 300 bytes for each of its bytes.
	MaxLength int
}

// Validate reports parameters that no engine can be made for.
func (o Options) Validate() error {
	if o.Radius < RadiusZero || o.Radius > morgan.MaxRadius {
		return fmt.Errorf("fingerprint radius %d: must be 0 to %d", o.Radius, morgan.MaxRadius)
	}
	if o.Bits != 0 && (o.Bits < morgan.MinBits || o.Bits > morgan.MaxBits || o.Bits%64 != 0) {
		return fmt.Errorf("fingerprint size %d: must be a multiple of 64 from %d to %d", o.Bits, morgan.MinBits, morgan.MaxBits)
	}
	return nil
}

// withDefaults returns the options that zero values stand for.
func (o Options) withDefaults() Options {
	if o.Bits == 0 {
		o.Bits = DefaultBits
	}
	if o.Radius == 0 {
		o.Radius = DefaultRadius
	}
	if o.MaxLength == 0 {
		o.MaxLength = DefaultMaxLength
	}
	return o
}

// String names the fingerprint, "Morgan radius=2 bits=2048" by default. ParseType
// reads it back.
func (o Options) String() string {
	o = o.withDefaults()
	return fmt.Sprintf("Morgan radius=%d bits=%d", max(o.Radius, 0), o.Bits)
}

// ParseType returns the options whose String is s.
func ParseType(s string) (Options, error) {
	var o Options
	if _, err := fmt.Sscanf(s, "Morgan radius=%d bits=%d", &o.Radius, &o.Bits); err != nil {
		return Options{}, fmt.Errorf("fingerprint type %q: %w", s, err)
	}
	if o.Radius == 0 {
		o.Radius = RadiusZero
	}
	if err := o.Validate(); err != nil {
		return Options{}, fmt.Errorf("fingerprint type %q: %w", s, err)
	}
	if o.String() != s {
		return Options{}, fmt.Errorf("fingerprint type %q: not as it is written, %q", s, o)
	}
	return o, nil
}
