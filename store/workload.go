package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	v1 "scimesh.dev/scimesh/api/v1"
)

const putWorkloadSQL = `
INSERT INTO workloads AS w (name, version, spec, created_at, updated_at)
VALUES (@name, @version, @spec, coalesce(@now::timestamptz, now()), coalesce(@now::timestamptz, now()))
ON CONFLICT (name) DO UPDATE
SET    version = excluded.version, spec = excluded.spec, updated_at = excluded.updated_at
WHERE  w.version <> excluded.version
OR     w.spec = excluded.spec
RETURNING name`

// PutWorkload records a workload that workers brought. Another version
// replaces the one before; another description of the same version is ErrConflict.
func (s *Store) PutWorkload(ctx context.Context, name string, spec v1.WorkloadSpec) (err error) {
	defer wrapf(&err, "record workload %s", name)

	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	args := pgx.NamedArgs{"name": name, "version": spec.Version, "spec": text, "now": s.now()}
	var stored string
	err = s.pool.QueryRow(ctx, putWorkloadSQL, args).Scan(&stored)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrConflict
	}
	return err
}

// RegisteredWorkloads lists the workloads that workers brought, by name.
func (s *Store) RegisteredWorkloads(ctx context.Context) (_ []v1.Workload, err error) {
	defer wrapf(&err, "list workloads")

	rows, err := s.pool.Query(ctx, `SELECT name, spec FROM workloads ORDER BY name`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (v1.Workload, error) {
		w := v1.Workload{TypeMeta: v1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.KindWorkload}}
		var text []byte
		if err := row.Scan(&w.Metadata.Name, &text); err != nil {
			return w, err
		}
		if err := json.Unmarshal(text, &w.Spec); err != nil {
			return w, fmt.Errorf("workload %s: %w", w.Metadata.Name, err)
		}
		return w, nil
	})
}
