package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/workloads"
)

// manifest is one Job of a file, with its defaults, checked as far as that
// goes without a coordinator.
type manifest struct {
	where string // for errors: the file, and the place in it if it holds several
	job   v1.Job
	form  v1.Document // what is wrong with its form
	input string      // file to upload; empty if the Job names no local one
	dir   string      // where files are that the Job names
}

// maxManifest bounds a manifest file in bytes.
const maxManifest = 16 << 20

// manifestFiles are where manifests are read from.
type manifestFiles struct {
	files     []string // or folders, or "-"
	recursive bool
	input     string // replaces the input of the one Job
}

// read returns all Jobs, or everything that is wrong with any of them.
func (m manifestFiles) read(stdin io.Reader) ([]manifest, error) {
	all, err := m.decode(stdin)
	if err != nil {
		return nil, err
	}
	if err := m.override(all); err != nil {
		return nil, err
	}
	var errs []error
	for i := range all {
		errs = append(errs, all[i].check())
	}
	errs = append(errs, duplicates(all))
	return all, errors.Join(errs...)
}

// decode returns all Jobs as they are written.
func (m manifestFiles) decode(stdin io.Reader) ([]manifest, error) {
	var all []manifest
	var errs []error
	for _, name := range m.files {
		paths, err := m.expand(name)
		errs = append(errs, err)
		for _, path := range paths {
			found, err := readManifest(path, stdin)
			all = append(all, found...)
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no Job in it", strings.Join(m.files, ", "))
	}
	return all, nil
}

// expand returns the files that a folder holds, or the file itself.
func (m manifestFiles) expand(name string) ([]string, error) {
	if name == "-" {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var paths []string
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != name && !m.recursive:
			return fs.SkipDir
		case !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)):
			paths = append(paths, path)
		}
		return nil
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: no .yaml, .yml or .json file in it", name)
	}
	return paths, err
}

func readManifest(path string, stdin io.Reader) ([]manifest, error) {
	data, err := readFile(path, stdin)
	if err != nil {
		return nil, err
	}
	docs := v1.ReadJobs(data)
	out := make([]manifest, len(docs))
	for i, d := range docs {
		out[i] = manifest{where: path, job: d.Job, form: d}
		if path != "-" {
			out[i].dir = filepath.Dir(path)
		}
		if d.Where != "" {
			out[i].where += ": " + d.Where
		}
		if in := d.Job.Spec.Input.Path; in != "" && !filepath.IsAbs(in) && path != "-" {
			out[i].input = filepath.Join(filepath.Dir(path), filepath.FromSlash(in))
		} else {
			out[i].input = filepath.FromSlash(in)
		}
	}
	return out, nil
}

func readFile(path string, stdin io.Reader) ([]byte, error) {
	r := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err == nil && len(data) > maxManifest {
		err = fmt.Errorf("larger than %d bytes", maxManifest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

// override replaces the input.
func (m manifestFiles) override(all []manifest) error {
	if m.input == "" {
		return nil
	}
	if len(all) != 1 {
		return fmt.Errorf("--input: goes with one Job, and there are %d", len(all))
	}
	all[0].job.Spec.Input = v1.JobInput{Path: m.input, InputLayout: all[0].job.Spec.Input.InputLayout}
	all[0].input = m.input
	return nil
}

// check sets the defaults and returns every fault, one a line.
func (m *manifest) check() error {
	faults := m.form.Faults
	if !m.form.Unreadable {
		v1.Default(&m.job)
		faults = append(faults, v1.Validate(&m.job, v1.ValidateOptions{AllowPath: true, AnyURI: true})...)
		if len(faults) > 0 { // the coordinator will not be asked
			faults = append(faults, checkWorkload(m.job.Spec)...)
		}
	}
	var errs []error
	for _, fault := range faults {
		place := m.where
		if fault.Field != "" {
			place += ": " + fault.Field
		}
		errs = append(errs, fmt.Errorf("%s: %s", place, v1.FieldMessage(fault)))
	}
	if m.input == "" {
		return errors.Join(errs...)
	}
	info, err := os.Stat(m.input)
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("%s: spec.input.path: %w", m.where, err))
	case !info.Mode().IsRegular():
		errs = append(errs, fmt.Errorf("%s: spec.input.path: %s is not a file", m.where, m.input))
	}
	return errors.Join(errs...)
}

// checkWorkload is what this binary would say of the workload and its
// parameters. A coordinator may be of another version, so it alone refuses nothing.
func checkWorkload(spec v1.JobSpec) field.ErrorList {
	path := field.NewPath("spec")
	w, ok := builtin().Get(spec.Workload)
	if !ok && spec.Workload != "" {
		return field.ErrorList{v1.UnknownWorkload(path.Child("workload"), spec.Workload, builtin().Names())}
	}
	if !ok {
		return nil
	}
	_, faults := w.Validate(path.Child("parameters"), spec.Parameters)
	return append(faults, workloads.ValidateFormats(w, path.Child("output", "formats"), spec.Output.Formats)...)
}

// duplicates names the Jobs that are there twice.
func duplicates(all []manifest) error {
	var errs []error
	first := map[string]string{}
	for _, m := range all {
		name := m.job.Metadata.Name
		if where, ok := first[name]; ok && name != "" {
			errs = append(errs, fmt.Errorf("%s: metadata.name: %s is also in %s", m.where, name, where))
			continue
		}
		first[name] = m.where
	}
	return errors.Join(errs...)
}
