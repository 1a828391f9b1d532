package perceive

import (
	"fmt"
	"strings"
)

// Step names the part of perception that refused a molecule.
type Step string

// The steps that refuse molecules. StepWorkLimit is no judgement of the molecule:
// it is larger or more tangled than a stated limit allows.
const (
	StepValence       Step = "valence"
	StepKekule        Step = "kekulize"
	StepAromaticChain Step = "aromatic chain"
	StepAromatic      Step = "aromaticity"
	StepWorkLimit     Step = "EngineLimit"
)

// Error is a molecule that is well-formed text but no acceptable structure.
type Error struct {
	Step    Step
	Atoms   []int // atoms concerned, numbered as written without removed hydrogens
	Message string
}

// Error names the step, the atoms and the problem.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Step, e.Message)
	if len(e.Atoms) > 0 {
		b.WriteString(" (atoms")
		for _, a := range e.Atoms {
			fmt.Fprintf(&b, " %d", a)
		}
		b.WriteString(")")
	}
	return b.String()
}
