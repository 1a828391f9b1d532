package worker

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// unknownMemoryMB is announced where the machine does not say.
const unknownMemoryMB = 1024

// machineMemoryMB returns the machine's memory, or unknownMemoryMB.
func machineMemoryMB() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return unknownMemoryMB
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kb int64
		if rest, ok := strings.CutPrefix(lines.Text(), "MemTotal:"); ok {
			if _, err := fmt.Sscan(rest, &kb); err == nil && kb >= 1024 {
				return kb / 1024
			}
		}
	}
	return unknownMemoryMB
}
