// Package migrations embeds the versioned schema of SciMesh's database, for
// golang-migrate. Migrations are append-only pairs NNNN_name.{up,down}.sql.
package migrations

import "embed"

// FS holds the migration files at its root.
//
//go:embed *.sql
var FS embed.FS
