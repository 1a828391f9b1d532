package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// count prints a number with separators between groups of three digits.
func count[T ~int | ~int32 | ~int64](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, r := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return sign + b.String()
}

// byteSize prints a size in units of 1024.
func byteSize(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, units := float64(n), []string{"KiB", "MiB", "GiB", "TiB", "PiB"}
	unit := ""
	for _, unit = range units {
		if v /= 1024; v < 1023.95 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// span prints a duration in its two largest units.
func span(d time.Duration) string {
	d = max(0, d)
	switch s := int64(d.Round(time.Second).Seconds()); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh %02dm", s/3600, s%3600/60)
	default:
		return fmt.Sprintf("%dd %02dh", s/86400, s%86400/3600)
	}
}

// ago prints how long before now a time was, or how long after it will be, in
// its largest unit.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	if d < -time.Second {
		return "in " + largest(-d)
	}
	if d < time.Second {
		return "now"
	}
	return largest(d) + " ago"
}

func largest(d time.Duration) string {
	switch s := int64(d.Seconds()); {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm", s/60)
	case s < 86400:
		return fmt.Sprintf("%dh", s/3600)
	default:
		return fmt.Sprintf("%dd", s/86400)
	}
}

// between prints the time from a to b, or to now if b has not come.
func between(a, b, now time.Time) string {
	if a.IsZero() {
		return ""
	}
	if b.IsZero() {
		b = now
	}
	return span(b.Sub(a))
}

func utcText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func machineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// shortDigest is the beginning of a SHA-256, enough to tell files apart by eye.
func shortDigest(s string) string { return s[:min(12, len(s))] }

// percent is the share of n in total, between 0 and 100.
func percent(n, total int64) int {
	if total <= 0 {
		return 0
	}
	return int(n * 100 / total)
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// decimal prints a rate with as many digits as it deserves.
func decimal(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return count(int64(math.Round(v)))
	}
}

// brief is an id short enough to stand in a drawing.
func brief(id string) string {
	const most = 18
	if r := []rune(id); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return id
}
