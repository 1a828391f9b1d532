// Package browser drives a headless Chromium through pages of the dashboard, for
// tests and screenshots.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// ErrNone says that there is no Chromium on this machine.
var ErrNone = errors.New("no Chromium is installed: run hack/bootstrap chromium")

// Find returns the path of a Chromium.
func Find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNone
}

// Start starts a browser that ends with ctx, and returns the context of its first tab.
func Start(ctx context.Context) (context.Context, context.CancelFunc, error) {
	path, err := Find()
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("disable-features", "Translate,OptimizationHints,MediaRouter"),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's sandbox refuses root
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(ctx, options...)
	tab, stopTab := chromedp.NewContext(allocator)
	if err := chromedp.Do(tab); err != nil {
		stopTab()
		stopAllocator()
		return nil, nil, fmt.Errorf("start Chromium: %w", err)
	}
	return tab, func() { stopTab(); stopAllocator() }, nil
}

// SignIn signs a tab in.
func SignIn(base, token string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(
		chromedp.Navigate(base+"/ui/login"),
		chromedp.SendKeys(chromedp.CSS("#token"), token),
		chromedp.Submit(chromedp.CSS("#token")),
		chromedp.WaitVisible(chromedp.CSS("nav[aria-label=Main]")),
	)
}

// Theme chooses between "light" and "dark".
func Theme(theme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
		})
		return err
	})
}

// Watcher notes what a tab does that no page should do.
type Watcher struct {
	mu       sync.Mutex
	origin   string
	problems []string
	off      bool
}

// Watch begins to watch a tab whose pages come from origin.
func Watch(tab context.Context, origin string) (*Watcher, error) {
	w := &Watcher{origin: origin}
	return w, chromedp.Listen(tab, w.note)
}

// Ignore stops noting, or goes on, around what is meant to go wrong.
func (w *Watcher) Ignore(off bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = off
}

// Problems are what was noted.
func (w *Watcher) Problems() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.problems...)
}

func (w *Watcher) note(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.off {
		return
	}
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		w.problems = append(w.problems, "exception: "+exception(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			var text strings.Builder
			for _, a := range e.Args {
				fmt.Fprintf(&text, " %s%s", a.Value, a.Description)
			}
			w.problems = append(w.problems, fmt.Sprintf("console: %s%s", e.Type, &text))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			w.problems = append(w.problems, fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		url := e.Request.URL
		if !strings.HasPrefix(url, w.origin+"/") && !strings.HasPrefix(url, "blob:"+w.origin+"/") && !strings.HasPrefix(url, "about:") {
			w.problems = append(w.problems, "request to another origin: "+url)
		}
	}
}

// exception says what a script threw.
func exception(e *runtime.ExceptionDetails) string {
	if e.Exception != nil {
		return e.Text + " " + e.Exception.Description
	}
	return e.Text
}
