package similaritygraph

import (
	"cmp"
	"slices"
)

// shape is what is known of a graph besides its edges: 8 bytes a molecule, and,
// for clusters, 24 more and 16 an edge. A nil shape learns nothing.
type shape struct {
	parent []uint32 // of the union of components: the earliest molecule is the root
	degree []uint32
	// pairs are the edges, if clusters are wanted.
	pairs    []uint32
	clusters bool
}

// newShape returns what the formats need, nil if there are none.
func newShape(molecules int64, formats []string) *shape {
	if len(formats) == 0 {
		return nil
	}
	s := &shape{parent: make([]uint32, molecules), degree: make([]uint32, molecules), clusters: slices.Contains(formats, formatClusters)}
	for i := range s.parent {
		s.parent[i] = uint32(i)
	}
	return s
}

func (s *shape) root(i uint32) uint32 {
	for s.parent[i] != i {
		s.parent[i] = s.parent[s.parent[i]]
		i = s.parent[i]
	}
	return i
}

func (s *shape) join(e edge) {
	if s == nil {
		return
	}
	a, b := uint32(e.source), uint32(e.target)
	s.degree[a]++
	s.degree[b]++
	if ra, rb := s.root(a), s.root(b); ra != rb {
		s.parent[max(ra, rb)] = min(ra, rb)
	}
	if s.clusters {
		s.pairs = append(s.pairs, a, b)
	}
}

// groups divides the molecules into groups, numbered from 1.
type groups struct {
	of    []uint32 // group of each molecule
	sizes []uint32 // of each group; that of group 1 is sizes[0]
}

// components numbers the connected components: the largest first, among equally
// large ones that of the earliest molecule.
func (s *shape) components() groups {
	size := make([]uint32, len(s.parent))
	var roots []uint32
	for i := range s.parent {
		r := s.root(uint32(i))
		if size[r]++; size[r] == 1 {
			roots = append(roots, r)
		}
	}
	slices.SortFunc(roots, func(a, b uint32) int { return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a, b)) })
	g := groups{of: make([]uint32, len(s.parent)), sizes: make([]uint32, len(roots))}
	number := make([]uint32, len(s.parent))
	for i, r := range roots {
		number[r], g.sizes[i] = uint32(i+1), size[r]
	}
	for i := range s.parent {
		g.of[i] = number[s.root(uint32(i))]
	}
	return g
}

// butina clusters as D. Butina described (J. Chem. Inf. Comput. Sci. 1999, 39,
// 747) and as RDKit's Butina.ClusterData does: the molecule with the most
// neighbours that is in no cluster yet, of several the latest, becomes the
// centroid of the next cluster, whose other members are those of its neighbours
// that are in none. centroids holds that of each cluster.
func (s *shape) butina() (g groups, centroids []uint32) {
	start := make([]uint64, len(s.degree)+1)
	for i, d := range s.degree {
		start[i+1] = start[i] + uint64(d)
	}
	neighbours, next := make([]uint32, len(s.pairs)), slices.Clone(start)
	for i := 0; i < len(s.pairs); i += 2 {
		a, b := s.pairs[i], s.pairs[i+1]
		neighbours[next[a]], neighbours[next[b]] = b, a
		next[a]++
		next[b]++
	}
	order := make([]uint32, len(s.degree))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(s.degree[b], s.degree[a]), cmp.Compare(b, a)) })
	g.of = make([]uint32, len(s.degree))
	for _, c := range order {
		if g.of[c] != 0 {
			continue
		}
		centroids = append(centroids, c)
		number, size := uint32(len(centroids)), uint32(1)
		g.of[c] = number
		for _, n := range neighbours[start[c]:start[c+1]] {
			if g.of[n] == 0 {
				g.of[n] = number
				size++
			}
		}
		g.sizes = append(g.sizes, size)
	}
	return g, centroids
}
