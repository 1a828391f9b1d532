//go:build linux

// Package proc reads what the kernel knows of a process: memory and processor time.
package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Memory is the resident memory of a process, in bytes.
type Memory struct {
	Now, Peak int64
}

// ReadMemory returns the resident memory of a living process.
func ReadMemory(pid int) (Memory, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, err
	}
	var m Memory
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ":")
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch {
		case err != nil:
		case name == "VmRSS":
			m.Now = kib << 10
		case name == "VmHWM":
			m.Peak = kib << 10
		}
	}
	if m.Now == 0 || m.Peak == 0 {
		return Memory{}, fmt.Errorf("process %d has ended", pid)
	}
	return m, nil
}

// ticksPerSecond is USER_HZ, which is 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// CPU returns the processor time that a process has used, with that of its
// children which have ended.
func CPU(pid int) (time.Duration, error) {
	s, err := readStat(pid)
	if err != nil {
		return 0, err
	}
	return s.used, nil
}

// CPUOfTree returns the processor time of a process, its living children and
// those that have ended.
func CPUOfTree(pid int) (time.Duration, error) {
	root, err := readStat(pid)
	if err != nil {
		return 0, err
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	total := root.used
	for _, dir := range all {
		child, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if s, err := readStat(child); err == nil && s.parent == pid { // others have ended since
			total += s.used
		}
	}
	return total, nil
}

type stat struct {
	parent int
	used   time.Duration
}

func readStat(pid int) (stat, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// The name in parentheses may hold anything; state is the first field after it.
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(f) < 15 {
		return stat{}, fmt.Errorf("process %d: short /proc/PID/stat", pid)
	}
	var n [5]int64
	for i, field := range []int{1, 11, 12, 13, 14} { // parent, then user and system time: own, children's
		if n[i], err = strconv.ParseInt(f[field], 10, 64); err != nil {
			return stat{}, fmt.Errorf("process %d: %w", pid, err)
		}
	}
	ticks := n[1] + n[2] + n[3] + n[4]
	return stat{parent: int(n[0]), used: time.Duration(ticks) * time.Second / ticksPerSecond}, nil
}
