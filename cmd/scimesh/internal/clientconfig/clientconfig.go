// Package clientconfig holds the client's contexts: which coordinator the
// commands talk to, and with which token. The file lies at $SCIMESH_CONFIG, or
// else scimesh/config.yaml below the user's configuration folder.
package clientconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Config is the file.
type Config struct {
	CurrentContext string    `json:"currentContext"`
	Contexts       []Context `json:"contexts"`
}

// Context is one coordinator. The token is kept in a file of its own, so that
// the configuration can be shown and shared.
type Context struct {
	Name      string `json:"name"`
	Server    string `json:"server"`
	TokenFile string `json:"tokenFile"`
}

// Target is where a command sends its requests.
type Target struct {
	Server string
	Token  string
}

// DefaultServer is the address of a coordinator on this machine.
const DefaultServer = "http://127.0.0.1:8080"

// Path returns the place of the configuration file.
func Path(getenv func(string) string) (string, error) {
	if p := getenv("SCIMESH_CONFIG"); p != "" {
		return p, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("place of the client configuration: %w (set SCIMESH_CONFIG)", err)
	}
	return filepath.Join(dir, "scimesh", "config.yaml"), nil
}

// Load reads the file at path; a missing one is an empty configuration.
func Load(path string) (Config, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("client configuration: %w", err)
	}
	var c Config
	if err := yaml.UnmarshalStrict(raw, &c); err != nil {
		return Config{}, fmt.Errorf("client configuration %s: %w", path, err)
	}
	return c, nil
}

// Save writes the configuration to path, mode 0600, in one step.
func (c Config) Save(path string) error {
	raw, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("client configuration: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".config-*")
	if err != nil {
		return fmt.Errorf("client configuration: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(raw)
	if err := errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("client configuration: %w", err)
	}
	return os.Rename(tmp.Name(), path)
}

// Use puts the context in place of the one of its name, or appends it, and makes it current.
func (c *Config) Use(context Context) {
	c.CurrentContext = context.Name
	i := slices.IndexFunc(c.Contexts, func(o Context) bool { return o.Name == context.Name })
	if i < 0 {
		c.Contexts = append(c.Contexts, context)
		return
	}
	c.Contexts[i] = context
}

// Resolve returns the target of a command: the flag or variable if given
// (server, SCIMESH_COORDINATOR_URL, SCIMESH_TOKEN), else the named or current context.
func (c Config) Resolve(server, contextName string, getenv func(string) string) (Target, error) {
	target := Target{Server: server, Token: getenv("SCIMESH_TOKEN")}
	if target.Server == "" {
		target.Server = getenv("SCIMESH_COORDINATOR_URL")
	}
	if contextName == "" {
		contextName = c.CurrentContext
	}
	if contextName != "" && (target.Server == "" || target.Token == "") {
		if err := c.fill(&target, contextName); err != nil {
			return Target{}, err
		}
	}
	if target.Server == "" {
		target.Server = DefaultServer
	}
	target.Server = strings.TrimRight(target.Server, "/")
	return target, nil
}

// fill completes target from a context. A context's token goes to that context's server alone.
func (c Config) fill(target *Target, name string) error {
	i := slices.IndexFunc(c.Contexts, func(o Context) bool { return o.Name == name })
	if i < 0 {
		return fmt.Errorf("no context %q in the client configuration", name)
	}
	context := c.Contexts[i]
	if target.Server == "" {
		target.Server = context.Server
	}
	sameServer := strings.TrimRight(target.Server, "/") == strings.TrimRight(context.Server, "/")
	if target.Token != "" || context.TokenFile == "" || !sameServer {
		return nil
	}
	raw, err := os.ReadFile(context.TokenFile)
	if err != nil {
		return fmt.Errorf("token of context %q: %w", name, err)
	}
	target.Token = strings.TrimSpace(string(raw))
	return nil
}
