package similaritygraph

import (
	"testing"

	"scimesh.dev/scimesh/workloads/workloadtest"
)

// molecules is a small table with everything that can happen to a row.
const molecules = "\ufeffname\tcanonical_smiles\tchembl_id\r\n" +
	"aspirin\tCC(=O)Oc1ccccc1C(=O)O\tCHEMBL25\r\n" +
	"salicylic acid\tO=C(O)c1ccccc1O\tCHEMBL424\r\n" +
	"\r\n" +
	"too short\r\n" +
	"aspirin, otherwise\tOC(=O)c1ccccc1OC(C)=O\tCHEMBL25B\r\n" +
	"benzoic acid\tO=C(O)c1ccccc1\tCHEMBL541\r\n" +
	"five bonds\tCC(C)(C)(C)C\tCHEMBL25\r\n" + // of no molecule: its id is free
	"not UTF-8\tCC\xff\tBAD2\r\n" +
	"not UTF-8, not needed \xff\tCCO\tCHEMBL545\r\n" +
	"no SMILES\t\tEMPTY\r\n" +
	"\"quoted\"\tc1ccccc1\tA \"quoted\", id\r\n" +
	"benzoic acid again\tO=C(O)c1ccccc1\tA CHEMBL541\r\n" +
	"open ring\tC1CC\tBAD3, with a comma\r\n" +
	"methyl salicylate\tCOC(=O)c1ccccc1O\tCHEMBL108545\r\n" +
	"too short\tC\r\n" +
	"paracetamol\tCC(=O)Nc1ccc(O)cc1\tCHEMBL112"

func TestConformance(t *testing.T) {
	for name, parameters := range map[string]string{
		"similar pairs":     `{"threshold":"0.35"}`,
		"dissimilar pairs":  `{"threshold":"0.2","threshold_direction":"less"}`,
		"of the first rows": `{"threshold":"0.3","max_rows":10}`,
	} {
		t.Run(name, func(t *testing.T) {
			workloadtest.Run(t, workloadtest.Config{
				Workload: New(Options{}), Input: []byte(molecules), Parameters: parameters,
				Rows: []int64{100, 7, 3, 2, 1},
				BadInputs: map[string][]byte{
					"other columns": []byte("cid\tstructure\nA\tC\n"),
				},
			})
		})
	}
}
