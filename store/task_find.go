package store

import (
	"context"

	"github.com/google/uuid"
)

const findTaskSQL = `
SELECT id
FROM   tasks
WHERE  job_id = $1
AND    chunk_index = $2`

// FindTask returns the id of the task of a Job at a chunk index.
func (s *Store) FindTask(ctx context.Context, job uuid.UUID, chunkIndex int32) (id uuid.UUID, err error) {
	defer wrapf(&err, "find task %d of job %s", chunkIndex, job)
	err = s.pool.QueryRow(ctx, findTaskSQL, job, chunkIndex).Scan(&id)
	return id, err
}
