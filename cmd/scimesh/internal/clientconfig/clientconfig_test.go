package clientconfig

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func getenv(values map[string]string) func(string) string {
	return func(key string) string { return values[key] }
}

func TestResolve(t *testing.T) {
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte("tok\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := Config{CurrentContext: "lab", Contexts: []Context{{Name: "lab", Server: "http://lab:1/", TokenFile: tokenFile}}}

	for name, tc := range map[string]struct {
		config  Config
		server  string
		context string
		env     map[string]string
		want    Target
	}{
		"nothing is set":                     {want: Target{Server: DefaultServer}},
		"the current context":                {config: config, want: Target{Server: "http://lab:1", Token: "tok"}},
		"the environment beats the context":  {config: config, env: map[string]string{"SCIMESH_COORDINATOR_URL": "http://env:2", "SCIMESH_TOKEN": "e"}, want: Target{Server: "http://env:2", Token: "e"}},
		"the flag beats the environment":     {config: config, server: "http://lab:1", env: map[string]string{"SCIMESH_COORDINATOR_URL": "http://env:2"}, want: Target{Server: "http://lab:1", Token: "tok"}},
		"another server never gets a token":  {config: config, server: "http://other:3", want: Target{Server: "http://other:3"}},
		"the token alone may be overwritten": {config: config, env: map[string]string{"SCIMESH_TOKEN": "e"}, want: Target{Server: "http://lab:1", Token: "e"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.config.Resolve(tc.server, tc.context, getenv(tc.env))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownContextIsNamed(t *testing.T) {
	if _, err := (Config{}).Resolve("", "nope", getenv(nil)); err == nil {
		t.Fatal("no error")
	}
}

func TestSaveAndLoadKeepContextsAndMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "config.yaml")
	var c Config
	c.Use(Context{Name: "a", Server: "http://a", TokenFile: "/t"})
	c.Use(Context{Name: "b", Server: "http://b", TokenFile: "/t"})
	c.Use(Context{Name: "a", Server: "http://a2", TokenFile: "/t"})
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o, want 600", info.Mode().Perm())
	}
	if got.CurrentContext != "a" || len(got.Contexts) != 2 {
		t.Errorf("got %+v", got)
	}
}
