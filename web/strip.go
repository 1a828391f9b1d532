package web

import (
	"context"
	"fmt"
	"strings"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/store"
)

const (
	// maxCells is how many tasks a strip shows one by one; of more, each cell stands for several.
	maxCells = 2000
	// cellSide is the side of a cell with its gap, in pixels; bigger where there are few.
	cellSide, bigCellSide = 9, 16
	fewCells              = 64
	cellGap               = 2
)

// strip is a picture of all tasks of a Job, a cell each or, beyond maxCells,
// for several neighbours.
type strip struct {
	// Size is how many tasks a cell stands for, Total how many there are.
	Size  int32
	Total int64
	// Side, Columns, Width and Height are in pixels and cells.
	Side, Columns, Width, Height int
	// Paths draw the cells of each state.
	Paths []stripPath
	// Summary says in words what the picture shows.
	Summary string
}

// stripPath draws all cells of one state.
type stripPath struct {
	State string
	D     string // an SVG path
}

func (d *Dashboard) loadStrip(ctx context.Context, j store.Job) (*strip, error) {
	if j.Tasks.Total == 0 {
		return nil, nil //nolint:nilnil // a Job without tasks has no strip
	}
	size := int32((j.Tasks.Total + maxCells - 1) / maxCells)
	cells, err := d.store.TaskCells(ctx, j.ID, size)
	if err != nil {
		return nil, err
	}
	return newStrip(cells, size, j.Tasks), nil
}

// newStrip draws the cells, row by row.
func newStrip(cells []store.TaskCell, size int32, tasks v1.TaskCounts) *strip {
	s := &strip{Size: size, Total: tasks.Total, Side: cellSide, Columns: 100, Summary: summary(tasks)}
	if len(cells) <= fewCells {
		s.Side, s.Columns = bigCellSide, 32
	}
	s.Columns = min(s.Columns, max(1, len(cells)))
	rows := (len(cells) + s.Columns - 1) / s.Columns
	s.Width, s.Height = s.Columns*s.Side, rows*s.Side
	paths := map[string]*strings.Builder{}
	side := s.Side - cellGap
	for i, c := range cells {
		state := cellState(c.Tasks)
		if paths[state] == nil {
			paths[state] = &strings.Builder{}
		}
		fmt.Fprintf(paths[state], "M%d %dh%dv%dh-%dz", i%s.Columns*s.Side, i/s.Columns*s.Side, side, side, side)
	}
	for _, state := range []string{"pending", "leased", "running", "partly", "completed", "failed", "cancelled"} {
		if b := paths[state]; b != nil {
			s.Paths = append(s.Paths, stripPath{state, b.String()})
		}
	}
	return s
}

// cellState is the state that asks for most attention; "partly" for a cell
// that is on its way.
func cellState(c v1.TaskCounts) string {
	switch {
	case c.Failed > 0:
		return "failed"
	case c.Running > 0:
		return "running"
	case c.Leased > 0:
		return "leased"
	case c.Completed == c.Total:
		return "completed"
	case c.Cancelled > 0:
		return "cancelled"
	case c.Completed > 0:
		return "partly"
	default:
		return "pending"
	}
}

// summary says how many tasks are in each state.
func summary(c v1.TaskCounts) string {
	parts := []string{}
	counts := taskCounts(c)
	for _, phase := range taskPhases {
		if n := counts[phase]; n > 0 {
			parts = append(parts, count(n)+" "+string(phase))
		}
	}
	return plural(c.Total, "task", "tasks") + ": " + strings.Join(parts, ", ")
}
