package v1

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateInput(in *JobInput, opts ValidateOptions, path *field.Path) field.ErrorList {
	return append(validateSource(in, opts, path), validateLayout(in.InputLayout, path)...)
}

// inputFormats are the values of InputLayout.Format.
var inputFormats = []string{"csv", "fps", "smi", "tsv"}

// maxColumnName bounds the name of a column, in bytes.
const maxColumnName = 256

func validateLayout(l InputLayout, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if l.Format != "" && !slices.Contains(inputFormats, l.Format) {
		errs = append(errs, field.NotSupported(path.Child("format"), Quote(l.Format), inputFormats))
	}
	for name, column := range map[string]string{"idColumn": l.IDColumn, "smilesColumn": l.SMILESColumn} {
		switch {
		case column == "":
		case l.Format == "smi" || l.Format == "fps":
			errs = append(errs, field.Forbidden(path.Child(name), "the format "+l.Format+" has no columns to name"))
		case len(column) > maxColumnName || strings.ContainsFunc(column, unicode.IsControl):
			errs = append(errs, field.Invalid(path.Child(name), Quote(column), "must be at most 256 bytes without control characters"))
		}
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

func validateSource(in *JobInput, opts ValidateOptions, path *field.Path) field.ErrorList {
	given := in.given()
	switch {
	case len(given) == 0 && opts.InputOptional:
		return nil
	case len(given) == 0:
		return field.ErrorList{field.Required(path, "one of "+inputForms(opts))}
	case opts.InputOptional:
		return field.ErrorList{field.Forbidden(path.Child(given[0]), "must be left out: the input comes with the Job")}
	case len(given) > 1:
		return field.ErrorList{field.Forbidden(path, "only one of its fields may be set, but there are "+strings.Join(given, " and "))}
	}
	switch given[0] {
	case "path":
		if !opts.AllowPath {
			return field.ErrorList{field.Forbidden(path.Child("path"), "only the command line reads files: upload it and name its artifact or sha256")}
		}
	case "artifact":
		if *in.Artifact == uuid.Nil {
			return field.ErrorList{field.Invalid(path.Child("artifact"), in.Artifact.String(), "must be the id of an artifact")}
		}
	case "sha256":
		return ValidateSHA256(in.SHA256, path.Child("sha256"))
	case "chunks":
		return validateChunks(in.Chunks, opts, path.Child("chunks"))
	}
	return nil
}

// given are the names of the fields that are set.
func (in *JobInput) given() []string {
	var out []string
	for name, set := range map[string]bool{
		"path": in.Path != "", "artifact": in.Artifact != nil, "sha256": in.SHA256 != "", "chunks": in.Chunks != nil,
	} {
		if set {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func inputForms(opts ValidateOptions) string {
	if opts.AllowPath {
		return "path, artifact, sha256, chunks"
	}
	return "artifact, sha256, chunks"
}

func validateChunks(chunks []InputChunk, opts ValidateOptions, path *field.Path) field.ErrorList {
	if len(chunks) == 0 {
		return field.ErrorList{field.Required(path, "at least one")}
	}
	if len(chunks) > MaxChunks {
		return field.ErrorList{field.TooMany(path, len(chunks), MaxChunks)}
	}
	var errs field.ErrorList
	for i, c := range chunks {
		p := path.Index(i)
		if msg := checkURI(c.URI, opts); msg != "" {
			errs = append(errs, field.Invalid(p.Child("uri"), Quote(withoutSecrets(c.URI)), msg))
		}
		errs = append(errs, ValidateSHA256(c.SHA256, p.Child("sha256"))...)
	}
	return errs
}

// URIPolicy decides which inputs outside the coordinator workers may be sent to.
type URIPolicy struct {
	// AllowedHosts are the hosts admitted: "data.example.org" at the default
	// port of the scheme, "data.example.org:8443" at that one, or
	// "*.example.org" for every host below a domain. An address, or
	// "localhost", is admitted by its exact entry alone.
	AllowedHosts []string
}

// checkURI says what is wrong with a chunk's URI; "" if nothing is.
func checkURI(raw string, opts ValidateOptions) string {
	u, err := url.Parse(raw)
	switch {
	case len(raw) > MaxChunkURI:
		return "must be at most 2048 bytes"
	case err != nil || !u.IsAbs():
		return "must be an absolute URI"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must be http or https"
	case u.Hostname() == "":
		return "must name a host"
	case u.User != nil:
		return "must not hold a user name or password"
	case u.Fragment != "":
		return "must not have a fragment"
	case opts.AnyURI:
		return ""
	}
	return opts.URIs.check(u)
}

func (p URIPolicy) check(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	exact := slices.ContainsFunc(p.AllowedHosts, func(entry string) bool { return sameHost(strings.ToLower(entry), host, u.Port()) })
	if exact {
		return ""
	}
	if isInternal(host) {
		return "its host is a loopback, link-local or other internal address, which the coordinator must admit by name"
	}
	for _, entry := range p.AllowedHosts {
		if suffix, ok := strings.CutPrefix(strings.ToLower(entry), "*"); ok && strings.HasPrefix(suffix, ".") &&
			strings.HasSuffix(host, suffix) && u.Port() == "" {
			return ""
		}
	}
	return "its host is not on the coordinator's list of allowed hosts"
}

// sameHost compares an entry of the list, with or without a port, with a host.
func sameHost(entry, host, port string) bool {
	if port != "" {
		return entry == host+":"+port || entry == "["+host+"]:"+port
	}
	return entry == host || entry == "["+host+"]"
}

// isInternal tells hosts that mean the worker's own machine or network by how
// they are written. What a name resolves to is not examined: the allow-list
// says which names are trusted.
func isInternal(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || !strings.Contains(host, ".") && !strings.Contains(host, ":") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		// 127.1, 0x7f.1 and the like: some resolvers take them for addresses.
		last := host[strings.LastIndexByte(host, '.')+1:]
		return strings.TrimLeft(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
	}
	addr = addr.Unmap()
	return addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsPrivate() || addr.IsUnspecified() ||
		addr.IsMulticast() || addr.IsInterfaceLocalMulticast()
}

// withoutSecrets is a URI without what may be secret in it.
func withoutSecrets(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
