package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/workloads/authored"
)

// maxBrought bounds the workloads that one worker brings.
const maxBrought = 64

// takeWorkloads records the workloads whose code a worker brings, all or none.
func (s handlers) takeWorkloads(ctx context.Context, b *wire.RegisterRequest) error {
	if len(b.Workloads) == 0 {
		return nil
	}
	path := field.NewPath("workloads")
	if len(b.Workloads) > maxBrought {
		return v1.AsError(field.ErrorList{field.TooMany(path, len(b.Workloads), maxBrought)})
	}
	var errs field.ErrorList
	brought := map[string]v1.WorkloadSpec{}
	for i, w := range b.Workloads {
		spec := v1.WorkloadSpec{
			Version: w.Version, Description: w.Description, ParametersSchema: w.ParametersSchema, Inputs: w.Inputs, Outputs: w.Outputs,
		}
		_, err := authored.New(w.Name, spec)
		switch name := path.Index(i).Child("name"); {
		case s.workloads.BuiltIn(w.Name):
			errs = append(errs, field.Forbidden(name, v1.Quote(w.Name)+" is built in"))
		case !slices.Contains(b.Capabilities, w.Name):
			errs = append(errs, field.Invalid(name, v1.Quote(w.Name), "is not among the capabilities"))
		case err != nil:
			errs = append(errs, field.Invalid(path.Index(i), field.OmitValueType{}, err.Error()))
		}
		brought[w.Name] = spec
	}
	if len(errs) > 0 {
		return v1.AsError(errs)
	}
	for name, spec := range brought {
		err := s.store.PutWorkload(ctx, name, spec)
		if errors.Is(err, store.ErrConflict) {
			return v1.AsError(field.ErrorList{field.Invalid(path, field.OmitValueType{},
				fmt.Sprintf("version %s of %s is registered with another description; give it another version", v1.Quote(spec.Version), v1.Quote(name)))})
		}
		if err != nil {
			return err
		}
		note(ctx, zap.String("workload", name))
	}
	return nil
}
