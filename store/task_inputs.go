package store

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// filesJSON is the JSON argument of a list of files; NULL for none.
func filesJSON(files []FileRef) any {
	if len(files) == 0 {
		return nil
	}
	data, err := json.Marshal(files)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return json.RawMessage(data)
}

// furtherInputs reads tasks.inputs, which this store has written.
func furtherInputs(data []byte) []FileRef {
	var files []FileRef
	if len(data) == 0 || json.Unmarshal(data, &files) != nil {
		return nil
	}
	return files
}

// GetTaskFile returns one of the further inputs of a task, by its position.
func (s *Store) GetTaskFile(ctx context.Context, task uuid.UUID, position int) (_ FileRef, err error) {
	defer wrapf(&err, "get input %d of task %s", position, task)
	var data []byte
	if err := s.pool.QueryRow(ctx, `SELECT inputs FROM tasks WHERE id = $1`, task).Scan(&data); err != nil {
		return FileRef{}, err
	}
	files := furtherInputs(data)
	if position < 0 || position >= len(files) {
		return FileRef{}, pgx.ErrNoRows
	}
	return files[position], nil
}
