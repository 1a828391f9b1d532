package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads/table"
)

// Bounds and measures of the drawing of a neighbourhood.
const (
	drawnNeighbours = 24 // in the drawing
	maxNeighbours   = 200
	drawWidth       = 640
	drawHeight      = 420
	drawRadius      = 160
)

// neighbourhood is a molecule of a graph with those around it.
type neighbourhood struct {
	ID     string
	SMILES string
	// Neighbours are the most similar first; More is how many are not listed.
	Neighbours []neighbour
	More       int
	// Lines and Width, Height draw the first of them.
	Lines         []line
	Width, Height int
	X, Y          float64
}

// neighbour is a molecule that an edge joins to the one in the middle.
type neighbour struct {
	ID, SMILES, Similarity string
	Share                  float64 // similarity in hundredths
	// X and Y are its place in the drawing, Anchor how its text is set.
	X, Y, TextX, TextY float64
	Anchor             string
	Drawn              bool
}

// line is an edge of the drawing. Inner ones join the molecule in the middle.
type line struct {
	X1, Y1, X2, Y2 float64
	Inner          bool
	Similarity     string
}

// around finds the neighbours of a molecule, and the edges between those that
// are drawn. It returns nil if the molecule has no edge.
func (d *Dashboard) around(ctx context.Context, sha256, id string) (*neighbourhood, error) {
	n := &neighbourhood{ID: id, Width: drawWidth, Height: drawHeight, X: drawWidth / 2, Y: drawHeight / 2}
	err := d.eachEdge(ctx, sha256, func(source, target, similarity string) bool {
		other := ""
		switch id {
		case source:
			other = target
		case target:
			other = source
		default:
			return true
		}
		n.Neighbours = append(n.Neighbours, neighbour{ID: strings.Clone(other), Similarity: strings.Clone(similarity), Share: share(similarity)})
		return len(n.Neighbours) < maxMolecules
	})
	if err != nil || len(n.Neighbours) == 0 {
		return nil, err
	}
	slices.SortFunc(n.Neighbours, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.ID, b.ID))
	})
	n.More = max(0, len(n.Neighbours)-maxNeighbours)
	n.Neighbours = slices.Clone(n.Neighbours[:min(len(n.Neighbours), maxNeighbours)])
	n.place()
	return n, n.join(ctx, d, sha256)
}

// place puts the neighbours on a circle.
func (n *neighbourhood) place() {
	drawn := min(len(n.Neighbours), drawnNeighbours)
	for i := range n.Neighbours[:drawn] {
		angle := 2*math.Pi*float64(i)/float64(drawn) - math.Pi/2
		p := &n.Neighbours[i]
		p.Drawn = true
		p.X, p.Y = round(n.X+drawRadius*math.Cos(angle)), round(n.Y+drawRadius*math.Sin(angle))
		p.TextX, p.TextY, p.Anchor = p.X+9, p.Y+4, "start"
		switch c := math.Cos(angle); {
		case c < -0.1:
			p.TextX, p.Anchor = p.X-9, "end"
		case c < 0.1:
			p.TextX, p.Anchor = p.X, "middle"
			if p.TextY = p.Y + 18; p.Y < n.Y {
				p.TextY = p.Y - 10
			}
		}
		n.Lines = append(n.Lines, line{n.X, n.Y, p.X, p.Y, true, p.Similarity})
	}
}

// join adds the edges between neighbours that are drawn.
func (n *neighbourhood) join(ctx context.Context, d *Dashboard, sha256 string) error {
	at := map[string]*neighbour{}
	for i := range n.Neighbours {
		if n.Neighbours[i].Drawn {
			at[n.Neighbours[i].ID] = &n.Neighbours[i]
		}
	}
	return d.eachEdge(ctx, sha256, func(source, target, similarity string) bool {
		if a, b := at[source], at[target]; a != nil && b != nil {
			n.Lines = append(n.Lines, line{a.X, a.Y, b.X, b.Y, false, strings.Clone(similarity)})
		}
		return true
	})
}

// share is a similarity in hundredths.
func share(similarity string) float64 {
	v, _ := strconv.ParseFloat(similarity, 64) // the reducer wrote it
	return v * 100
}

func round(v float64) float64 { return math.Round(v*10) / 10 }

// findStructures looks the SMILES of the molecules up in the input of the Job,
// as far as it can be read.
func (n *neighbourhood) findStructures(ctx context.Context, d *Dashboard, j store.Job) error {
	if j.Input == nil {
		return nil
	}
	wanted := map[string]*string{n.ID: &n.SMILES}
	for i := range n.Neighbours {
		wanted[n.Neighbours[i].ID] = &n.Neighbours[i].SMILES
	}
	in, err := d.openInput(ctx, j.Input.SHA256)
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := table.NewReader(in, table.OptionsFor(j.Spec.Input.InputLayout))
	if err != nil {
		return err
	}
	defer r.Close()
	for rows := 1; len(wanted) > 0; rows++ {
		row, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case rows%checkEdges == 0 && ctx.Err() != nil:
			return ctx.Err()
		}
		if place := wanted[string(row.ID)]; place != nil && row.Reject == "" {
			*place = string(row.SMILES)
			delete(wanted, string(row.ID))
		}
	}
	return nil
}
