// Package settings gives every setting of a command one name and four
// sources, weakest first: the default, a YAML file, the environment, a flag.
// Secrets have no flag, since a flag is visible in the list of processes.
package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"sigs.k8s.io/yaml"
)

// Set is the settings of one command. Declare them with Flag and Secret after
// defining the flags, then call Load once.
type Set struct {
	flags    *pflag.FlagSet
	settings []setting
}

type setting struct {
	name   string // flag name and key in the YAML file
	env    string
	secret *string
}

// New returns an empty set over the flags of a command.
func New(flags *pflag.FlagSet) *Set { return &Set{flags: flags} }

// Flag lets the environment variable env set the flag name, which must be defined.
func (s *Set) Flag(name, env string) {
	flag := s.flags.Lookup(name)
	if flag == nil {
		panic("settings: undefined flag " + name)
	}
	flag.Usage += " [" + env + "]"
	s.settings = append(s.settings, setting{name: name, env: env})
}

// Secret lets env, or the file that the variable env+"_FILE" names, set *dst.
func (s *Set) Secret(dst *string, name, env string) {
	s.settings = append(s.settings, setting{name: name, env: env, secret: dst})
}

// Load fills in what the flags left open from the environment and then from
// the YAML file, if file is not empty. It returns every fault at once, each
// naming the variable or key.
func (s *Set) Load(file string, lookupEnv func(string) (string, bool)) error {
	fromFile, err := readFile(file)
	if err != nil {
		return err
	}
	var faults []error
	for _, st := range s.settings {
		inFile, hasFile := fromFile[st.name]
		delete(fromFile, st.name)
		faults = append(faults, s.load(st, inFile, hasFile, lookupEnv))
	}
	for key := range fromFile {
		faults = append(faults, fmt.Errorf("%s: unknown setting %q", file, key))
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return errors.Join(faults...)
}

// Join joins the faults of Load and those of a check of the values. A setting
// whose value could not be read is told of once: the check saw its default.
func Join(load, check error) error {
	told := map[string]bool{}
	faults := split(load)
	for _, f := range faults {
		told[subject(f)] = true
	}
	for _, f := range split(check) {
		if !told[subject(f)] {
			faults = append(faults, f)
		}
	}
	return errors.Join(faults...)
}

// split returns the errors that errors.Join has put together.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// subject is the setting that a fault names.
func subject(fault error) string {
	name, _, _ := strings.Cut(fault.Error(), ":")
	return name
}

func (s *Set) load(st setting, inFile string, hasFile bool, lookupEnv func(string) (string, bool)) error {
	if st.secret != nil {
		return loadSecret(st, inFile, hasFile, lookupEnv)
	}
	if s.flags.Changed(st.name) {
		return nil
	}
	if value, ok := lookupEnv(st.env); ok {
		if err := s.flags.Set(st.name, value); err != nil {
			return fmt.Errorf("%s: invalid value %q: %w", st.env, value, cause(err))
		}
		return nil
	}
	if hasFile {
		if err := s.flags.Set(st.name, inFile); err != nil {
			return fmt.Errorf("%s: invalid value %q: %w", st.name, inFile, cause(err))
		}
	}
	return nil
}

func loadSecret(st setting, inFile string, hasFile bool, lookupEnv func(string) (string, bool)) error {
	if value, ok := lookupEnv(st.env); ok {
		*st.secret = value
		return nil
	}
	path, ok := lookupEnv(st.env + "_FILE")
	if !ok && hasFile {
		path, ok = inFile, true
	}
	if !ok {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s_FILE: %w", st.env, err)
	}
	*st.secret = strings.TrimSpace(string(raw))
	return nil
}

// readFile returns the file's top-level scalars as strings. A secret's value
// is the path of the file that holds it.
func readFile(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("settings file: %w", err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(raw, &values); err != nil {
		return nil, fmt.Errorf("settings file %s: %w", path, err)
	}
	out := make(map[string]string, len(values))
	for key, value := range values {
		switch value.(type) {
		case map[string]any, []any, nil:
			return nil, fmt.Errorf("settings file %s: %s: want one value", path, key)
		}
		out[key] = fmt.Sprint(value)
	}
	return out, nil
}

// cause drops pflag's wording around a parse error: it names a flag that the user did not give.
func cause(err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return invalid.Unwrap()
	}
	return err
}

// Fields returns every setting and its value, by name, for the log at start; a secret only as set or unset.
func (s *Set) Fields() []zap.Field {
	fields := make([]zap.Field, 0, len(s.settings))
	sorted := slices.SortedFunc(slices.Values(s.settings), func(a, b setting) int { return strings.Compare(a.name, b.name) })
	for _, st := range sorted {
		if st.secret != nil {
			fields = append(fields, zap.Bool(st.name+"_set", *st.secret != ""))
			continue
		}
		fields = append(fields, zap.String(st.name, s.flags.Lookup(st.name).Value.String()))
	}
	return fields
}
