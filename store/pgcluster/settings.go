package pgcluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	settingsFile    = "scimesh.conf"
	includeSettings = "\ninclude 'scimesh.conf'\n"
	settingsHeader  = `# Written at each start. To change a setting for good, use ALTER SYSTEM,
# which takes precedence over this file.
`
)

var settingName = regexp.MustCompile(`^[a-z][a-z0-9_.]*$`)

// settings returns the text of the settings file.
func settings(opts Options, port int) (string, error) {
	all := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": "",
		"port":                    strconv.Itoa(port),
		"password_encryption":     "scram-sha-256",
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"lc_messages":             "C",
		"log_checkpoints":         "off",
		"log_line_prefix":         "%m [%p] ",
	}
	if opts.Unsafe {
		all["fsync"] = "off"
		all["synchronous_commit"] = "off"
		all["full_page_writes"] = "off"
	}
	for name, value := range opts.Settings {
		if !settingName.MatchString(name) {
			return "", fmt.Errorf("%q is no name of a setting", name)
		}
		if strings.ContainsAny(value, "\x00\r\n") {
			return "", fmt.Errorf("setting %s: the value has more than one line", name)
		}
		all[name] = value
	}
	var b strings.Builder
	b.WriteString(settingsHeader)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s = '%s'\n", name, strings.NewReplacer(`'`, `''`, `\`, `\\`).Replace(all[name]))
	}
	return b.String(), nil
}

// applySettings writes the settings file and has postgresql.conf read it.
func applySettings(dataDir, text string, id identity) error {
	if err := writeFile(filepath.Join(dataDir, settingsFile), text, id); err != nil {
		return err
	}
	main := filepath.Join(dataDir, "postgresql.conf")
	conf, err := os.ReadFile(main)
	if err != nil || strings.Contains(string(conf), includeSettings) {
		return err
	}
	return writeFile(main, string(conf)+includeSettings, id)
}

// Ports are chosen between those that need rights and those that Linux (32768
// and up), macOS and Windows (49152 and up) hand out to outgoing connections.
const firstPort, lastPort = 15000, 32000

// choosePort returns the port in dir/port or, if there is none or another
// program occupies it, a new one, which it writes there.
func choosePort(dir string, id identity) (int, error) {
	path := filepath.Join(dir, "port")
	if port := readPort(path); port != 0 && portFree(port) {
		return port, nil
	}
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if portFree(port) {
			return port, writeFile(path, strconv.Itoa(port)+"\n", id)
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d", firstPort, lastPort)
}

// readPort returns the port noted in path, or 0.
func readPort(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || port <= 0 || port > 65535 {
		return 0
	}
	return port
}

func portFree(port int) bool {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
