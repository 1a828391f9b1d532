// Package pgcluster runs a private PostgreSQL server from the binaries that
// this machine has, with all of its state in one folder:
//
//	DIR/lock          held by the process that owns the cluster
//	DIR/password      the superuser's password, mode 0600
//	DIR/port          the port, kept from one start to the next
//	DIR/postgres.log  what the server says
//	DIR/data          the PostgreSQL data folder
//
// # How it is reached
//
// The server listens on 127.0.0.1 alone, with scram-sha-256. A Unix socket in
// DIR would need no port, but its path may hold no more than about 100 bytes,
// which home and temporary folders exceed; TCP works in every case. The port is
// chosen below the ranges from which systems take the ports of outgoing
// connections, so that none of those occupies it while the server is restarted.
//
// # What lasts, and what may be lost
//
// The data folder is authoritative. With fsync on (the default) a commit
// survives the death of the server, of its owner and of the machine. DIR/port
// may be deleted at any time: another one is chosen.
//
// # Who owns the server
//
// The server is a session of its own: a terminal's interrupt does not reach it
// before its clients have drained. It outlives an owner that is killed, unless
// EndWithOwner is set. The next Start in the same folder adopts it if it runs with the settings wanted,
// and otherwise stops it and starts it anew. A server that was killed leaves a
// lock file and, for a moment, backends; Start copes with both.
//
// PostgreSQL refuses to run as root. Root's cluster belongs to the user
// postgres, or nobody, and runs as that user.
package pgcluster
