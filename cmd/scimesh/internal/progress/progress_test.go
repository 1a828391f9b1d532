package progress

import (
	"strings"
	"testing"
	"time"
)

type clock struct{ now time.Time }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func newTest(columns int) (*Display, *strings.Builder, *clock) {
	var b strings.Builder
	c := &clock{now: time.Unix(1000, 0)}
	return New(Options{Out: &b, Columns: columns, Now: func() time.Time { return c.now }}), &b, c
}

func TestPlainLines(t *testing.T) {
	d, b, c := newTest(0)
	show := func(step string, done, total int64) {
		d.Show(State{Label: "job/a", Step: step, Done: done, Total: total})
	}
	show("planning", 0, 0)
	show("planning", 0, 0) // the same
	show("running", 0, 10) // another step
	show("running", 1, 10) // too soon
	c.pass(10 * time.Second)
	show("running", 5, 10)
	d.Line("by the way")
	c.pass(time.Second)
	show("running", 6, 10)  // too soon
	show("running", 10, 10) // the end
	show("running", 10, 10)
	d.Close()
	want := "job/a  planning\njob/a  running  0%\njob/a  running  50%\nby the way\njob/a  running  100%\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestPlainLinesOfSomethingShort(t *testing.T) {
	d, b, c := newTest(0)
	d.Begin(State{Label: "upload"})
	d.Show(State{Label: "upload", Done: 1, Total: 10})
	c.pass(11 * time.Second)
	d.Show(State{Label: "upload", Done: 2, Total: 10})
	d.Show(State{Label: "upload", Done: 10, Total: 10, Detail: "10 B"})
	if want := "upload  20%\nupload  100%  10 B\n"; b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestTerminal(t *testing.T) {
	d, b, c := newTest(50)
	d.Show(State{Label: "job/a", Step: "planning"})
	d.Show(State{Label: "job/a", Step: "running", Done: 1, Total: 4, Detail: "1/4"})
	d.Show(State{Label: "job/a", Step: "running", Done: 2, Total: 4, Detail: "2/4"}) // too soon
	c.pass(100 * time.Millisecond)
	d.Show(State{Label: "job/a", Step: "running", Done: 3, Total: 4, Detail: "3/4"})
	d.Line("news")
	d.Show(State{Label: "job/a", Step: "running", Done: 3, Total: 4, Detail: "3/4 " + strings.Repeat("much ", 20)}) // no room for a bar
	d.Close()
	d.Close()
	want := "\rjob/a  planning\x1b[K" +
		"\rjob/a  running  [=====               ]   25%  1/4\x1b[K" +
		"\rjob/a  running  [===============     ]   75%  3/4\x1b[K" +
		"\r\x1b[Knews\n" +
		"\rjob/a  running  75%  3/4 much much much much much\x1b[K\n"
	if b.String() != want {
		t.Errorf("got\n%q\nwant\n%q", b.String(), want)
	}
}

func TestRate(t *testing.T) {
	var r Rate
	at := time.Unix(0, 0)
	if r.PerSecond() != 0 {
		t.Error("a speed of nothing")
	}
	for i := range 1000 { // 10 a second, then 100 a second
		r.Add(at.Add(time.Duration(i)*100*time.Millisecond), int64(i))
	}
	if got := r.PerSecond(); got < 9.9 || got > 10.1 {
		t.Errorf("%f a second", got)
	}
	if len(r.samples) > 2*maxSamples {
		t.Errorf("%d samples", len(r.samples))
	}
	if left, ok := r.Left(1099); !ok || left.Round(time.Second) != 10*time.Second {
		t.Errorf("left: %s %v", left, ok)
	}
	at = at.Add(100 * time.Second)
	for i := range 400 {
		r.Add(at.Add(time.Duration(i)*100*time.Millisecond), int64(1000+i*10))
	}
	if got := r.PerSecond(); got < 99 || got > 101 {
		t.Errorf("after it became faster: %f a second", got)
	}
	r.Add(at.Add(time.Minute), 3) // begun anew
	if _, ok := r.Left(10); ok || r.PerSecond() != 0 {
		t.Error("a speed across a new beginning")
	}
	r.Add(at.Add(time.Minute+time.Second), 3)
	if _, ok := r.Left(1 << 60); ok {
		t.Error("a time left for what stands still")
	}
}
