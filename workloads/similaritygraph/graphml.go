package similaritygraph

import (
	"bytes"
	"encoding/xml"
	"fmt"

	"scimesh.dev/scimesh/workloads/blocks"
)

const graphMLType = "application/graphml+xml"

const graphMLHeader = xml.Header + `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
 <key id="smiles" for="node" attr.name="smiles" attr.type="string"/>
 <key id="similarity" for="edge" attr.name="similarity" attr.type="double"/>
 <graph edgedefault="undirected">
`

// writeGraphML writes the nodes in the order of the input, then the edges in that of the result.
func (r *reducer) writeGraphML(w *formatWriter) error {
	w.write([]byte(graphMLHeader))
	err := r.molecules(func(_ int64, m blocks.Record) error {
		w.write(fmt.Appendf(w.line[:0], "  <node id=\"%s\"><data key=\"smiles\">%s</data></node>\n", escaped(m.ID), escaped(m.SMILES)))
		return w.err
	})
	if err != nil {
		return err
	}
	err = r.merge(func(e edge) error {
		w.write(fmt.Appendf(w.line[:0], "  <edge source=\"%s\" target=\"%s\"><data key=\"similarity\">%s</data></edge>\n",
			escaped(e.sourceID), escaped(e.targetID), e.similarity(nil)))
		return w.err
	})
	if err != nil {
		return err
	}
	w.write([]byte(" </graph>\n</graphml>\n"))
	return w.err
}

// escaped is a text in XML; characters that XML cannot hold become U+FFFD.
func escaped(text []byte) []byte {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, text) // a buffer takes everything
	return b.Bytes()
}
