// Package migrations embeds the versioned schema of SciMesh's database, for
// golang-migrate. Migrations are append-only pairs NNNN_name.{up,down}.sql.
package migrations

import (
	"embed"
	"fmt"
	"sync"
)

// FS holds the migration files at its root.
//
//go:embed *.sql
var FS embed.FS

// Latest is the version of the newest migration.
var Latest = sync.OnceValue(func() uint {
	entries, err := FS.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("migrations: read embedded files: %v", err))
	}
	var latest uint
	for _, e := range entries {
		var v uint
		if _, err := fmt.Sscanf(e.Name(), "%d_", &v); err != nil {
			panic(fmt.Sprintf("migrations: %s has no version", e.Name()))
		}
		latest = max(latest, v)
	}
	return latest
})
