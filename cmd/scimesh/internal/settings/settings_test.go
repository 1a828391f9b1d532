package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

type config struct {
	addr    string
	timeout time.Duration
	token   string
}

func newSet(t *testing.T, args ...string) (*config, *Set) {
	t.Helper()
	var c config
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.StringVar(&c.addr, "addr", "127.0.0.1:1", "address")
	flags.DurationVar(&c.timeout, "timeout", time.Second, "timeout")
	set := New(flags)
	set.Flag("addr", "T_ADDR")
	set.Flag("timeout", "T_TIMEOUT")
	set.Secret(&c.token, "token-file", "T_TOKEN")
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &c, set
}

func env(pairs ...string) func(string) (string, bool) {
	return func(key string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == key {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestASettingIsToldOfOnce(t *testing.T) {
	_, set := newSet(t)
	load := set.Load("", env("T_TIMEOUT", "x", "T_ADDR", "a"))
	check := errors.Join(errors.New("T_TIMEOUT: 0s is too short"), errors.New("T_TOKEN: required"))
	got := Join(load, check)
	if got == nil || strings.Count(got.Error(), "T_TIMEOUT") != 1 || !strings.Contains(got.Error(), "invalid value") || !strings.Contains(got.Error(), "T_TOKEN: required") {
		t.Errorf("faults are %v", got)
	}
	if err := Join(nil, nil); err != nil {
		t.Error(err)
	}
}

func TestFlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	file := write(t, "addr: file\ntimeout: 3s\n")
	for name, tc := range map[string]struct {
		args []string
		env  []string
		file string
		want string
	}{
		"default":     {want: "127.0.0.1:1"},
		"file":        {file: file, want: "file"},
		"environment": {file: file, env: []string{"T_ADDR", "env"}, want: "env"},
		"flag":        {file: file, env: []string{"T_ADDR", "env"}, args: []string{"--addr=flag"}, want: "flag"},
	} {
		t.Run(name, func(t *testing.T) {
			c, set := newSet(t, tc.args...)
			if err := set.Load(tc.file, env(tc.env...)); err != nil {
				t.Fatal(err)
			}
			if c.addr != tc.want {
				t.Errorf("addr = %q, want %q", c.addr, tc.want)
			}
		})
	}
}

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	_, set := newSet(t)
	err := set.Load(write(t, "adr: x\n"), env("T_TIMEOUT", "soon"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"T_TIMEOUT", `"soon"`, `unknown setting "adr"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %s", err, want)
		}
	}
}

func TestSecretComesFromVariableOrFile(t *testing.T) {
	file := write(t, "from-file\n")
	for name, tc := range map[string]struct {
		env  []string
		yaml string
		want string
	}{
		"variable":      {env: []string{"T_TOKEN", "v", "T_TOKEN_FILE", file}, want: "v"},
		"file":          {env: []string{"T_TOKEN_FILE", file}, want: "from-file"},
		"settings file": {yaml: "token-file: " + file, want: "from-file"},
	} {
		t.Run(name, func(t *testing.T) {
			c, set := newSet(t)
			settingsFile := ""
			if tc.yaml != "" {
				settingsFile = write(t, tc.yaml)
			}
			if err := set.Load(settingsFile, env(tc.env...)); err != nil {
				t.Fatal(err)
			}
			if c.token != tc.want {
				t.Errorf("token = %q, want %q", c.token, tc.want)
			}
		})
	}
}

func TestFieldsHideSecrets(t *testing.T) {
	c, set := newSet(t)
	c.token = "s3cret"
	for _, f := range set.Fields() {
		if strings.Contains(f.String, "s3cret") {
			t.Errorf("field %s shows the secret", f.Key)
		}
	}
}
