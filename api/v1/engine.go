package v1

import "strings"

// EngineAny as the engine of a Job lets every engine of one model take part:
// engines that declare the same model give the same bits.
const EngineAny = "any"

// modelPrefix begins the word of an engine's name that says which RDKit
// release's answers it gives.
const modelPrefix = "rdkit-model/"

// EngineModel returns the model that an engine declares, which is the last word
// of a name such as "scimesh-chem/0.1.0 rdkit-model/2026.09.1"; empty if it declares none.
func EngineModel(engine string) string {
	i := strings.LastIndexByte(engine, ' ')
	if i < 0 || !strings.HasPrefix(engine[i+1:], modelPrefix) {
		return ""
	}
	return engine[i+1:]
}

// SharedEngine returns what a Job that admits any engine keeps to once a worker
// with this engine has claimed a task: the engine's model, or the engine itself.
func SharedEngine(engine string) string {
	if model := EngineModel(engine); model != "" {
		return model
	}
	return engine
}
