package similaritygraph

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"strconv"

	"scimesh.dev/scimesh/workloads"
	"scimesh.dev/scimesh/workloads/blocks"
	"scimesh.dev/scimesh/workloads/csvfile"
	"scimesh.dev/scimesh/workloads/extsort"
	"scimesh.dev/scimesh/workloads/shards"
)

// writeFormats writes the files that were asked for beside the result.
func (r *reducer) writeFormats(s *shape) ([]workloads.File, error) {
	var files []workloads.File
	for _, format := range r.req.Formats {
		file, err := r.writeFormat(format, s)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func (r *reducer) writeFormat(format string, s *shape) (workloads.File, error) {
	var name string
	for _, f := range formats {
		if f.Name == format {
			name = f.Filename
		}
	}
	kind := shards.CSVType
	if format == formatGraphML {
		kind = graphMLType
	}
	w := &formatWriter{}
	if err := w.out.Create(r.ctx, r.req.Files, name, kind); err != nil {
		return workloads.File{}, err
	}
	defer w.out.Abort()
	var err error
	switch format {
	case formatGraphML:
		err = r.writeGraphML(w)
	case formatNodes:
		err = r.writeNodes(w, s)
	case formatComponents:
		w.record("component", "size", "id")
		err = r.writeGroups(w, s.components(), nil)
	case formatClusters:
		w.record("cluster", "size", "id", "centroid")
		g, centroids := s.butina()
		err = r.writeGroups(w, g, centroids)
	default:
		err = workloads.Errorf(workloads.ReasonInvalidParameters, "spec.output.formats: %.80q is unknown", format)
	}
	if err = cmp.Or(err, w.err); err != nil {
		return workloads.File{}, err
	}
	return w.out.Commit()
}

// formatWriter writes lines and keeps the first error.
type formatWriter struct {
	out  shards.Output
	line []byte
	err  error
}

func (w *formatWriter) record(fields ...string) { w.write(csvfile.AppendRecord(w.line[:0], fields...)) }

func (w *formatWriter) write(line []byte) {
	w.line = line
	if err := w.out.Add(line, "", nil, ""); w.err == nil {
		w.err = err
	}
}

// molecules calls take with every molecule of the input, in order, and its number from 0.
func (r *reducer) molecules(take func(number int64, m blocks.Record) error) error {
	number := int64(0)
	for _, partial := range r.blocks {
		if err := r.moleculesOf(partial, func(m blocks.Record) error {
			number++
			return take(number-1, m)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *reducer) moleculesOf(partial workloads.Partial, take func(blocks.Record) error) error {
	file, err := partial.Open(r.ctx)
	if err != nil {
		return broken(r.ctx, partial, err)
	}
	defer file.Close()
	in := &shards.ContextReader{Ctx: r.ctx, R: file}
	b, err := blocks.Scan(in)
	for err == nil {
		var m blocks.Record
		if m, err = b.Next(); err != nil {
			break
		}
		if m.Reject == "" {
			if err := take(m); err != nil {
				return err
			}
		}
	}
	if !errors.Is(err, io.EOF) || in.Err != nil {
		return badPartial(r.ctx, partial, in, err)
	}
	return nil
}

func (r *reducer) writeNodes(w *formatWriter, s *shape) error {
	w.record("id", "smiles", "degree", "component")
	components := s.components()
	return r.molecules(func(n int64, m blocks.Record) error {
		w.record(string(m.ID), string(m.SMILES), number(s.degree[n]), number(components.of[n]))
		return w.err
	})
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// member is a molecule of a group.
type member struct {
	group uint32
	rank  uint32 // 0 for the centroid, else 1
	node  uint32
	id    string
}

func compareMembers(a, b member) int {
	return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.rank, b.rank), cmp.Compare(a.node, b.node))
}

var memberCodec = extsort.Codec[member]{
	Append: func(dst []byte, m member) []byte {
		for _, n := range []uint32{m.group, m.rank, m.node} {
			dst = binary.BigEndian.AppendUint32(dst, n)
		}
		return append(dst, m.id...)
	},
	Decode: func(b []byte) (member, error) {
		if len(b) < 12 {
			return member{}, errors.New("temporary file of molecules is damaged")
		}
		n := binary.BigEndian.Uint32
		return member{n(b), n(b[4:]), n(b[8:]), string(b[12:])}, nil
	},
}

// writeGroups writes the members of each group: the centroid first, if there are
// centroids, then the others in the order of the input.
func (r *reducer) writeGroups(w *formatWriter, g groups, centroids []uint32) (err error) {
	sorter := &extsort.Sorter[member]{
		Merger: extsort.Merger[member]{Dir: r.req.TempDir, Codec: memberCodec, Compare: compareMembers},
		Limit:  idMemory, Size: func(m member) int { return len(m.id) + 40 },
	}
	defer func() { err = errors.Join(err, sorter.Close()) }()
	err = r.molecules(func(n int64, m blocks.Record) error {
		x := member{group: g.of[n], rank: 1, node: uint32(n), id: string(m.ID)}
		if centroids != nil && centroids[x.group-1] == x.node {
			x.rank = 0
		}
		return sorter.Add(x)
	})
	if err != nil {
		return err
	}
	return sorter.Each(r.ctx, func(m member) error {
		fields := []string{number(m.group), number(g.sizes[m.group-1]), m.id}
		if centroids != nil {
			fields = append(fields, strconv.FormatBool(m.rank == 0))
		}
		w.record(fields...)
		return w.err
	})
}
