// Package fingerprints compares package chem with live RDKit, string by string:
// whether a string is accepted, every bit of its fingerprint, and whether two
// strings are the same molecule.
//
// RDKit runs in the Python environment that hack/bootstrap makes in .cache/venv;
// another interpreter can be named in ORACLE_PYTHON. The tests are skipped where
// there is none, except in CI.
package fingerprints

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
)

// Answer is what RDKit makes of one string.
type Answer struct {
	Valid     bool
	Bits      []uint64
	Canonical string
	Spelling  string // a random spelling, if asked for
	SameAgain bool   // whether it leads to the same canonical SMILES
}

// Question is what RDKit is asked about every string.
type Question struct {
	Radius, Bits int  // of the fingerprint
	Respell      bool // a random spelling is wanted too
}

// Ask lets RDKit answer for every line and calls each with its answer, in order.
// The answer is good until the next. Ask returns RDKit's version.
func Ask(python string, q Question, lines [][]byte, each func(i int, a *Answer) error) (version string, err error) {
	cmd := exec.Command(python, "rdkit_answers.py", "--radius", strconv.Itoa(q.Radius), "--bits", strconv.Itoa(q.Bits))
	if q.Respell {
		cmd.Args = append(cmd.Args, "--respell")
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start %s: %w", python, err)
	}
	go func() {
		w := bufio.NewWriter(stdin)
		for _, l := range lines {
			if _, err := w.Write(append(slices.Clip(l), '\n')); err != nil {
				break // the reader reports that RDKit has gone
			}
		}
		_ = w.Flush()
		_ = stdin.Close()
	}()
	version, err = readAnswers(bufio.NewReaderSize(stdout, 1<<20), len(lines), q.Bits/64, each)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the first error says more
		return version, err
	}
	return version, cmd.Wait()
}

func readAnswers(r *bufio.Reader, n, words int, each func(int, *Answer) error) (version string, err error) {
	if version, err = readText(r); err != nil {
		return "", fmt.Errorf("RDKit gives no answer: %w", err)
	}
	a := Answer{Bits: make([]uint64, words)}
	for i := range n {
		if err := a.read(r); err != nil {
			return version, fmt.Errorf("answer %d: %w", i, err)
		}
		if err := each(i, &a); err != nil {
			return version, err
		}
	}
	return version, nil
}

func (a *Answer) read(r *bufio.Reader) error {
	*a = Answer{Bits: a.Bits}
	valid, err := r.ReadByte()
	if err != nil || valid == 0 {
		return err
	}
	a.Valid = true
	if err := binary.Read(r, binary.LittleEndian, a.Bits); err != nil {
		return err
	}
	if a.Canonical, err = readText(r); err != nil {
		return err
	}
	if a.Spelling, err = readText(r); err != nil {
		return err
	}
	same, err := r.ReadByte()
	a.SameAgain = same == 1
	return err
}

func readText(r *bufio.Reader) (string, error) {
	var n uint32
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return "", err
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return string(b), err
}
