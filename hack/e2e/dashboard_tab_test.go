//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"scimesh.dev/scimesh/hack/internal/browser"
	"scimesh.dev/scimesh/hack/internal/platform"
)

// tabTimeout bounds what a page is waited for.
const tabTimeout = 90 * time.Second

// tab is a browser's tab on a dashboard.
type tab struct {
	t       *testing.T
	ctx     context.Context
	base    string
	watcher *browser.Watcher
}

// openTab starts a browser and signs it in. When the test ends nothing that no
// page should do must have been seen.
func openTab(t *testing.T, p *platform.Platform) *tab {
	t.Helper()
	ctx, stop, err := browser.Start(context.Background())
	if errors.Is(err, browser.ErrNone) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	b := &tab{t: t, ctx: ctx, base: p.URL()}
	if b.watcher, err = browser.Watch(ctx, p.URL()); err != nil {
		t.Fatal(err)
	}
	go acceptDialogs(ctx)
	b.do("sign in", browser.SignIn(p.URL(), p.OperatorToken()))
	t.Cleanup(func() {
		for _, problem := range b.watcher.Problems() {
			t.Error(problem)
		}
	})
	return b
}

// acceptDialogs answers yes to what a page asks, until the tab is closed.
func acceptDialogs(ctx context.Context) {
	for _, err := range chromedp.Events(ctx, page.JavascriptDialogOpening) {
		if err != nil {
			return
		}
		_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}) // a failure shows in the test
	}
}

// do takes steps that must succeed.
func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, tabTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v\n%s", what, err, b.describe())
	}
}

// visit opens a page.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.do("visit "+path, chromedp.Navigate(b.base+path), chromedp.WaitReady(chromedp.CSS("main")))
}

// click clicks on what a selector finds.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.do("click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// press presses keys.
func (b *tab) press(keys string) {
	b.t.Helper()
	b.do("press a key", chromedp.KeyEvent(keys))
}

// await waits until an expression holds in the page, over reloads too.
func (b *tab) await(what, expression string) {
	b.t.Helper()
	deadline := time.Now().Add(tabTimeout)
	for {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if ok {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("waited in vain for: %s (last error: %v)\n%s", what, err, b.describe())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// block has the browser refuse requests to addresses; without any, none.
func (b *tab) block(patterns ...string) {
	b.t.Helper()
	list := []*network.BlockPattern{}
	for _, p := range patterns {
		list = append(list, &network.BlockPattern{URLPattern: p, Block: true})
	}
	if _, err := chromedp.Call(b.ctx, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: list}); err != nil {
		b.t.Fatal(err)
	}
}

// text is the text of what a selector finds first, or "".
func (b *tab) text(selector string) string {
	b.t.Helper()
	return evaluate[string](b, fmt.Sprintf("document.querySelector(%s)?.innerText ?? ''", quoteJS(selector)))
}

// describe is what the page shows now.
func (b *tab) describe() string {
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText.slice(0, 3000)"))
	return fmt.Sprintf("%s (%v)", text, err)
}

// evaluate returns the value of an expression in the page.
func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, tabTimeout)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("evaluate %s: %v\n%s", expression[:min(200, len(expression))], err, b.describe())
	}
	return v
}

// quoteJS is a text as a literal of JavaScript.
func quoteJS(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(raw)
}
