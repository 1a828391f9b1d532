package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// limit is the number of items asked for, within bounds.
func (p Page) limit() int {
	if p.Limit <= 0 {
		return defaultPage
	}
	return min(p.Limit, maxPage)
}

// decodeCursor reads the position from which a page goes on; zero for the first.
func decodeCursor[C any](p Page) (c C, err error) {
	if p.Continue == "" {
		return c, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(p.Continue)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		return c, &FieldError{Field: "continue", Message: "is not what an earlier page returned"}
	}
	return c, nil
}

// page cuts items, of which one more than the limit was read, to the limit and
// notes where to go on.
func page[T any](items []T, p Page, cursor func(T) any) List[T] {
	if len(items) <= p.limit() {
		return List[T]{Items: items}
	}
	items = items[:p.limit()]
	data, err := json.Marshal(cursor(items[len(items)-1]))
	if err != nil {
		panic(fmt.Sprintf("store: encode cursor: %v", err)) // cursors are plain structs
	}
	return List[T]{Items: items, Continue: base64.RawURLEncoding.EncodeToString(data)}
}

// textArray is an argument that is NULL for an empty filter.
func textArray[S ~string](values []S) []string {
	if len(values) == 0 {
		return nil
	}
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
