//go:build unix

// Command screenshots makes the pictures of docs/img: every page of the
// dashboard in both themes, from a platform of its own with real jobs.
//
//	go run ./hack/screenshots
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"scimesh.dev/scimesh/hack/internal/browser"
	"scimesh.dev/scimesh/hack/internal/platform"
)

// maxBytes is how large a picture may be.
const maxBytes = 200_000

func main() {
	out := flag.String("out", "docs/img", "folder of the pictures")
	only := flag.String("only", "", "make the pictures of the pages alone whose names begin so")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, only string) (err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "scimesh-screenshots-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL runs as another user
		return err
	}
	w, err := newWorld(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	addresses, err := w.populate(ctx)
	if err != nil {
		return err
	}
	tab, stop, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := shoot(tab, filepath.Join(out, "login"), only, "login", w.platform.URL()+"/ui/login"); err != nil {
		return err
	}
	if err := chromedp.Do(tab, browser.SignIn(w.platform.URL(), w.platform.OperatorToken())); err != nil {
		return err
	}
	for _, a := range addresses {
		if err := shoot(tab, filepath.Join(out, a.name), only, a.name, w.platform.URL()+a.path, a.before...); err != nil {
			return err
		}
	}
	return nil
}

// step is something to do in a tab.
type step = chromedp.Action[chromedp.Void]

// shoot makes the two pictures of a page.
func shoot(tab context.Context, path, only, name, address string, before ...step) error {
	tab, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	if only != "" && !strings.HasPrefix(name, only) {
		return nil
	}
	for _, theme := range []string{"light", "dark"} {
		actions := append([]step{chromedp.EmulateViewport(1280, 860), browser.Theme(theme), chromedp.Navigate(address)}, before...)
		actions = append(actions, chromedp.WaitReady(chromedp.CSS("main")), chromedp.Sleep(400*time.Millisecond))
		if err := chromedp.Do(tab, actions...); err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		picture, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
		if err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		file := path + "-" + theme + ".png"
		if len(picture) > maxBytes {
			return fmt.Errorf("%s: %d bytes are more than %d", file, len(picture), maxBytes)
		}
		if err := os.WriteFile(file, picture, 0o644); err != nil {
			return err
		}
		fmt.Println(file, len(picture))
	}
	return nil
}

// build compiles the program.
func build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "scimesh")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/scimesh")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return binary, cmd.Run()
}

// world is a platform with processes.
type world struct {
	platform  *platform.Platform
	processes []*platform.Process
	dir       string
}

func newWorld(ctx context.Context, dir string) (*world, error) {
	binary, err := build(ctx, dir)
	if err != nil {
		return nil, err
	}
	p, err := platform.Start(ctx, platform.Options{Dir: dir, Binary: binary})
	if err != nil {
		return nil, err
	}
	w := &world{platform: p, dir: dir}
	c, err := p.StartCoordinator("coordinator", false)
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	w.processes = append(w.processes, c)
	if err := platform.AwaitReady(ctx, c); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) close() error {
	for _, p := range w.processes {
		p.Kill()
	}
	return w.platform.Close()
}
