package v1

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

const digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// makeJob returns a valid Job with its defaults, changed by edit.
func makeJob(edit func(*Job)) *Job {
	j := &Job{
		TypeMeta: TypeMeta{APIVersion: APIVersion, Kind: KindJob},
		Metadata: ObjectMeta{Name: "gefitinib-neighbours", Labels: map[string]string{"target": "EGFR"}},
		Spec: JobSpec{
			Workload:   "similarity-search",
			Input:      JobInput{SHA256: digest},
			Parameters: json.RawMessage(`{"query_id": "CHEMBL939", "top_k": 20}`),
		},
	}
	Default(j)
	if edit != nil {
		edit(j)
	}
	return j
}

func TestDefault(t *testing.T) {
	j := &Job{}
	Default(j)
	if j.Spec.MaxAttempts != 3 || j.Spec.Sharding.Rows != 100_000 || string(j.Spec.Parameters) != "{}" {
		t.Errorf("defaults are %+v", j.Spec)
	}
}

func TestValidate(t *testing.T) {
	chunks := func(uris ...string) func(*Job) {
		return func(j *Job) {
			j.Spec.Input = JobInput{Chunks: []InputChunk{}}
			for _, u := range uris {
				j.Spec.Input.Chunks = append(j.Spec.Input.Chunks, InputChunk{URI: u, SHA256: digest})
			}
		}
	}
	allow := func(hosts ...string) ValidateOptions { return ValidateOptions{URIs: URIPolicy{AllowedHosts: hosts}} }
	id := uuid.MustParse("01938f3e-5a5f-7c9d-8d3e-1f2a3b4c5d6e")
	tests := map[string]struct {
		edit func(*Job)
		opts ValidateOptions
		want []string // paths of the faults
	}{
		"a valid job":                        {},
		"no name":                            {edit: func(j *Job) { j.Metadata.Name = "" }, want: []string{"metadata.name"}},
		"no name where it is optional":       {edit: func(j *Job) { j.Metadata.Name = "" }, opts: ValidateOptions{NameOptional: true}},
		"a name with capitals":               {edit: func(j *Job) { j.Metadata.Name = "Gefitinib" }, want: []string{"metadata.name"}},
		"a name with a slash":                {edit: func(j *Job) { j.Metadata.Name = "../etc" }, want: []string{"metadata.name"}},
		"a name of 64 letters":               {edit: func(j *Job) { j.Metadata.Name = strings.Repeat("a", 64) }, want: []string{"metadata.name"}},
		"a name like a UUID":                 {edit: func(j *Job) { j.Metadata.Name = id.String() }, want: []string{"metadata.name"}},
		"a name like a UUID without hyphens": {edit: func(j *Job) { j.Metadata.Name = strings.ReplaceAll(id.String(), "-", "") }, want: []string{"metadata.name"}},
		"another API version":                {edit: func(j *Job) { j.APIVersion = "v2" }, want: []string{"apiVersion"}},
		"another kind":                       {edit: func(j *Job) { j.Kind = "Pod" }, want: []string{"kind"}},
		"a label key with a space":           {edit: func(j *Job) { j.Metadata.Labels = map[string]string{"a b": "c"} }, want: []string{"metadata.labels[a b]"}},
		"a label value too long":             {edit: func(j *Job) { j.Metadata.Labels["target"] = strings.Repeat("x", 64) }, want: []string{"metadata.labels[target]"}},
		"annotations too long":               {edit: func(j *Job) { j.Metadata.Annotations = map[string]string{"a": strings.Repeat("x", 70000)} }, want: []string{"metadata.annotations"}},
		"no workload":                        {edit: func(j *Job) { j.Spec.Workload = "" }, want: []string{"spec.workload"}},
		"a thousand million attempts":        {edit: func(j *Job) { j.Spec.MaxAttempts = 1_000_000_000 }, want: []string{"spec.maxAttempts"}},
		"negative attempts":                  {edit: func(j *Job) { j.Spec.MaxAttempts = -1 }, want: []string{"spec.maxAttempts"}},
		"one hundred attempts":               {edit: func(j *Job) { j.Spec.MaxAttempts = 100 }},
		"priorities too high and too low":    {edit: func(j *Job) { j.Spec.Priority = 1001 }, want: []string{"spec.priority"}},
		"priority too low":                   {edit: func(j *Job) { j.Spec.Priority = -1001 }, want: []string{"spec.priority"}},
		"negative parallelism, deadline, ttl": {edit: func(j *Job) {
			j.Spec.Parallelism, j.Spec.ActiveDeadlineSeconds, j.Spec.TTLSecondsAfterFinished = -1, -1, -1
		}, want: []string{"spec.parallelism", "spec.activeDeadlineSeconds", "spec.ttlSecondsAfterFinished"}},
		"negative rows":                        {edit: func(j *Job) { j.Spec.Sharding.Rows = -5 }, want: []string{"spec.sharding.rows"}},
		"parameters that are a list":           {edit: func(j *Job) { j.Spec.Parameters = json.RawMessage(`[1]`) }, want: []string{"spec.parameters"}},
		"parameters too long":                  {edit: func(j *Job) { j.Spec.Parameters = json.RawMessage(`{"a":"` + strings.Repeat("x", 70000) + `"}`) }, want: []string{"spec.parameters"}},
		"a zero character in parameters":       {edit: func(j *Job) { j.Spec.Parameters = json.RawMessage(`{"a":"\\\u0000"}`) }, want: []string{"spec.parameters"}},
		"an escaped backslash":                 {edit: func(j *Job) { j.Spec.Parameters = json.RawMessage(`{"a":"\\u0000"}`) }},
		"a zero character in annotations":      {edit: func(j *Job) { j.Metadata.Annotations = map[string]string{"a": "\x00"} }, want: []string{"metadata.annotations[a]"}},
		"no input":                             {edit: func(j *Job) { j.Spec.Input = JobInput{} }, want: []string{"spec.input"}},
		"no input where it comes with the job": {edit: func(j *Job) { j.Spec.Input = JobInput{} }, opts: ValidateOptions{InputOptional: true}},
		"an input where one comes with it":     {opts: ValidateOptions{InputOptional: true}, want: []string{"spec.input.sha256"}},
		"two inputs":                           {edit: func(j *Job) { j.Spec.Input.Artifact = &id }, want: []string{"spec.input"}},
		"an artifact":                          {edit: func(j *Job) { j.Spec.Input = JobInput{Artifact: &id} }},
		"the artifact of no id":                {edit: func(j *Job) { j.Spec.Input = JobInput{Artifact: &uuid.Nil} }, want: []string{"spec.input.artifact"}},
		"a path at the coordinator":            {edit: func(j *Job) { j.Spec.Input = JobInput{Path: "x.tsv"} }, want: []string{"spec.input.path"}},
		"a path at the command line":           {edit: func(j *Job) { j.Spec.Input = JobInput{Path: "x.tsv"} }, opts: ValidateOptions{AllowPath: true}},
		"a digest in capitals":                 {edit: func(j *Job) { j.Spec.Input.SHA256 = strings.ToUpper(digest) }, want: []string{"spec.input.sha256"}},
		"a digest too short":                   {edit: func(j *Job) { j.Spec.Input.SHA256 = digest[2:] }, want: []string{"spec.input.sha256"}},
		"every format":                         {edit: func(j *Job) { j.Spec.Input.Format = "fps" }},
		"an unknown format":                    {edit: func(j *Job) { j.Spec.Input.Format = "sdf" }, want: []string{"spec.input.format"}},
		"columns with names":                   {edit: func(j *Job) { j.Spec.Input.IDColumn, j.Spec.Input.SMILESColumn = "Molecule ID", "2" }},
		"columns of what has none":             {edit: func(j *Job) { j.Spec.Input.InputLayout = InputLayout{"smi", "a", "b"} }, want: []string{"spec.input.idColumn", "spec.input.smilesColumn"}},
		"a column with a line end":             {edit: func(j *Job) { j.Spec.Input.IDColumn = "a\nb" }, want: []string{"spec.input.idColumn"}},
		"a column with a long name":            {edit: func(j *Job) { j.Spec.Input.SMILESColumn = strings.Repeat("x", 257) }, want: []string{"spec.input.smilesColumn"}},
		"a format of what comes with the job":  {edit: func(j *Job) { j.Spec.Input = JobInput{InputLayout: InputLayout{Format: "csv"}} }, opts: ValidateOptions{InputOptional: true}},
		"no chunks":                            {edit: chunks(), want: []string{"spec.input.chunks"}},
		"chunks while no host is allowed":      {edit: chunks("https://data.example.org/1"), want: []string{"spec.input.chunks[0].uri"}},
		"chunks on an allowed host":            {edit: chunks("https://data.example.org/1", "http://DATA.example.org/2"), opts: allow("data.example.org")},
		"chunks for one who does not decide":   {edit: chunks("https://data.example.org/1"), opts: ValidateOptions{AnyURI: true}},
		"chunks on a port not allowed":         {edit: chunks("https://data.example.org:22/1"), opts: allow("data.example.org", "*.example.org"), want: []string{"spec.input.chunks[0].uri"}},
		"chunks on an allowed port":            {edit: chunks("https://data.example.org:8443/1"), opts: allow("data.example.org:8443")},
		"chunks below an allowed domain":       {edit: chunks("https://a.b.example.org/1"), opts: allow("*.example.org")},
		"the domain itself":                    {edit: chunks("https://example.org/1"), opts: allow("*.example.org"), want: []string{"spec.input.chunks[0].uri"}},
		"a domain that ends alike":             {edit: chunks("https://evilexample.org/1"), opts: allow("*.example.org"), want: []string{"spec.input.chunks[0].uri"}},
		"a file":                               {edit: chunks("file:///etc/passwd"), opts: ValidateOptions{AnyURI: true}, want: []string{"spec.input.chunks[0].uri"}},
		"a relative URI":                       {edit: chunks("/x"), opts: ValidateOptions{AnyURI: true}, want: []string{"spec.input.chunks[0].uri"}},
		"a password in the URI":                {edit: chunks("https://u:p@data.example.org/1"), opts: ValidateOptions{AnyURI: true}, want: []string{"spec.input.chunks[0].uri"}},
		"a link-local address":                 {edit: chunks("http://169.254.169.254/latest/"), opts: allow("*"), want: []string{"spec.input.chunks[0].uri"}},
		"loopback in IPv6, mapped IPv4, short": {edit: chunks("http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://127.1/", "http://0x7f.0.0.1/", "http://localhost/"), opts: allow("*.example.org"), want: []string{"spec.input.chunks[0].uri", "spec.input.chunks[1].uri", "spec.input.chunks[2].uri", "spec.input.chunks[3].uri", "spec.input.chunks[4].uri"}},
		"loopback admitted by name":            {edit: chunks("http://127.0.0.1:8080/1"), opts: allow("127.0.0.1:8080")},
		"a chunk with a malformed checksum": {edit: func(j *Job) {
			j.Spec.Input = JobInput{Chunks: []InputChunk{{URI: "https://data.example.org/1", SHA256: "abc"}}}
		}, opts: allow("data.example.org"), want: []string{"spec.input.chunks[0].sha256"}},
		"several faults at once": {edit: func(j *Job) {
			j.Kind, j.Metadata.Name, j.Spec.Workload, j.Spec.Priority = "", "A", "", 5000
		}, want: []string{"kind", "metadata.name", "spec.workload", "spec.priority"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range Validate(makeJob(tc.edit), tc.opts) {
				if e.Detail == "" && e.ErrorBody() == "" {
					t.Errorf("%s has no message", e.Field)
				}
				got = append(got, e.Field)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateDoesNotRepeatSecrets(t *testing.T) {
	j := makeJob(func(j *Job) {
		j.Spec.Input = JobInput{Chunks: []InputChunk{{URI: "https://user:hunter2@data.example.org/1?token=abc", SHA256: digest}}}
	})
	msg := AsError(Validate(j, ValidateOptions{})).Error()
	if strings.Contains(msg, "hunter2") || strings.Contains(msg, "token=abc") {
		t.Errorf("message holds a secret: %s", msg)
	}
}
