package main

import "time"

// coarse is how long something must take for processor time to be exact enough:
// systems that count it in ticks have them every 4 ms, some 10.
const coarse = 200 * time.Millisecond

// clock measures one thing.
type clock struct {
	wall time.Time
	used time.Duration
}

func startClock() clock { return clock{time.Now(), processorTime()} }

// elapsed is the time gone by, of which the fastest of several passes is hardly
// disturbed if it is short; for what takes long, the processor time, so that other
// work on the machine is left out.
func (c clock) elapsed() time.Duration {
	wall := time.Since(c.wall)
	if used := processorTime() - c.used; used > coarse {
		return min(wall, used)
	}
	return wall
}
