package progress

import "time"

// Rate measures a speed from what is done at which time, over a sliding window.
type Rate struct {
	// Window is how far back it looks; 30 s by default.
	Window  time.Duration
	samples []sample
}

type sample struct {
	at   time.Time
	done int64
}

// maxSamples bounds the memory: samples nearer to each other than this share of the window are one.
const maxSamples = 64

// Add says how much is done at a time. Less than before begins anew.
func (r *Rate) Add(at time.Time, done int64) {
	if r.Window == 0 {
		r.Window = 30 * time.Second
	}
	n := len(r.samples)
	if n > 0 && done < r.samples[n-1].done {
		r.samples, n = nil, 0
	}
	if n > 1 && at.Sub(r.samples[n-2].at) < r.Window/maxSamples {
		r.samples[n-1] = sample{at, done}
	} else {
		r.samples = append(r.samples, sample{at, done})
	}
	for len(r.samples) > 2 && at.Sub(r.samples[1].at) >= r.Window {
		r.samples = r.samples[1:]
	}
}

// PerSecond is the speed, 0 while it is not known.
func (r *Rate) PerSecond() float64 {
	n := len(r.samples)
	if n < 2 {
		return 0
	}
	first, last := r.samples[0], r.samples[n-1]
	if elapsed := last.at.Sub(first.at).Seconds(); elapsed > 0 {
		return float64(last.done-first.done) / elapsed
	}
	return 0
}

// Left is the time until total is done at this speed; ok is false while it is not known.
func (r *Rate) Left(total int64) (left time.Duration, ok bool) {
	speed := r.PerSecond()
	if speed <= 0 {
		return 0, false
	}
	done := r.samples[len(r.samples)-1].done
	seconds := float64(max(0, total-done)) / speed
	if seconds > maxLeft.Seconds() {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// maxLeft is the longest time left that is worth telling.
const maxLeft = 1000 * 24 * time.Hour
