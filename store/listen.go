package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// listenProbe is how long a silent connection is trusted: a peer that vanished
// without a word is noticed after it.
const listenProbe = 30 * time.Second

// Listen opens one connection and subscribes to the channels named. It calls
// listening once all subscriptions stand, and from then on notify for each
// notification, from one goroutine. It returns when the connection is lost or
// ctx ends, with the reason. Notifications about jobs also wake waiting claims
// of this Store.
func (s *Store) Listen(ctx context.Context, channels []string, listening func(), notify func(channel, payload string)) (err error) {
	defer wrapf(&err, "listen")

	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig.Copy())
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // it is lost or not needed any more
	}()
	for _, channel := range channels {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return err
		}
	}
	listening()
	if slices.Contains(channels, ChannelJobs) {
		s.dispatch.poke() // what was sent before is lost
	}
	for {
		if err := s.receive(ctx, conn, notify); err != nil {
			return err
		}
	}
}

// receive hands one notification over, or probes the connection if none comes.
func (s *Store) receive(ctx context.Context, conn *pgx.Conn, notify func(channel, payload string)) error {
	waiting, cancel := context.WithTimeout(ctx, listenProbe)
	defer cancel()
	n, err := conn.WaitForNotification(waiting)
	switch {
	case err == nil:
		if n.Channel == ChannelJobs {
			s.dispatch.poke()
		}
		notify(n.Channel, n.Payload)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case waiting.Err() != nil && !conn.IsClosed():
		return conn.Ping(ctx)
	default:
		return err
	}
}
