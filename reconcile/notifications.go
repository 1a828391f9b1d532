package reconcile

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/utils/clock"
)

// Listener is a connection that delivers notifications, such as PostgreSQL's
// LISTEN. Whoever implements it need not import this package.
type Listener interface {
	// Listen opens one connection and subscribes to the channels named. It
	// calls listening once all subscriptions stand, and from then on notify
	// for each notification, from one goroutine. It returns when the
	// connection is lost or ctx ends, with the reason, and has then called
	// the functions for the last time. Both return quickly.
	Listen(ctx context.Context, channels []string, listening func(), notify func(channel, payload string)) error
}

// NotificationsOptions configure Notifications. The zero value works.
type NotificationsOptions struct {
	// BaseDelay is the wait before the first reconnection, 100 ms by default.
	// It doubles with each failure in a row up to MaxDelay, 5 s by default. A
	// connection that lasts MaxDelay ends the row.
	BaseDelay, MaxDelay time.Duration
	// Jitter shortens each wait by a random part, up to this fraction; 0.2 by
	// default, negative for none.
	Jitter float64
	// Clock is the real one by default.
	Clock clock.WithTicker
	// Logger is silent by default.
	Logger *zap.Logger
}

const (
	defaultReconnectBase = 100 * time.Millisecond
	defaultReconnectMax  = 5 * time.Second
)

// Notifications shares one Listener among the controllers of a process. It is
// a Runnable of the Manager; its Source method makes the sources of the
// controllers.
//
// A notification is a hint. Those sent while there was no connection are lost,
// so that each connection made begins with a full resync.
type Notifications struct {
	listener Listener
	opts     NotificationsOptions
	log      *zap.Logger

	mu        sync.Mutex
	sources   []*notificationSource
	listening bool
	connected time.Time // when listening became true
}

// NewNotifications returns a hub for what listener delivers.
func NewNotifications(listener Listener, opts NotificationsOptions) *Notifications {
	opts.BaseDelay = orDefault(opts.BaseDelay, defaultReconnectBase)
	opts.MaxDelay = max(orDefault(opts.MaxDelay, defaultReconnectMax), opts.BaseDelay)
	opts.Jitter = jitterOrDefault(opts.Jitter)
	opts.Clock = clockOrReal(opts.Clock)
	return &Notifications{listener: listener, opts: opts, log: loggerOrNop(opts.Logger)}
}

// Source returns a source that adds the keys named by the notifications of
// channel. keys takes them out of a payload; nil stands for a payload that is
// the key. A payload without keys calls resync, and so does each connection
// made: pass the Trigger of the controller's Periodic. Neither function may
// block. All sources must be made before Notifications is started.
func (n *Notifications) Source(channel string, keys func(payload string) []string, resync func()) Source {
	if keys == nil {
		keys = wholePayload
	}
	s := &notificationSource{hub: n, channel: channel, keys: keys, resync: resync}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sources = append(n.sources, s)
	return s
}

func wholePayload(payload string) []string {
	if payload == "" {
		return nil
	}
	return []string{payload}
}

// Start listens until ctx ends, and reconnects with back-off meanwhile.
func (n *Notifications) Start(ctx context.Context) error {
	reconnect := delays{base: n.opts.BaseDelay, max: n.opts.MaxDelay, jitter: n.opts.Jitter}
	for failures := 0; ctx.Err() == nil; failures++ {
		lasted, err := n.listen(ctx)
		if ctx.Err() != nil {
			continue
		}
		if lasted >= n.opts.MaxDelay {
			failures = 0
		}
		wait := reconnect.after(failures + 1)
		n.log.Warn("notifications lost, will reconnect", append(errorFields(err), zap.Duration("retry_after", wait))...)
		sleep(ctx, n.opts.Clock, wait)
	}
	return nil
}

// listen holds one connection and returns how long its subscriptions stood.
func (n *Notifications) listen(ctx context.Context) (lasted time.Duration, err error) {
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.listening {
			lasted = n.opts.Clock.Since(n.connected)
		}
		n.listening = false
	}()
	defer recoverAs(&err)
	if err := n.listener.Listen(ctx, n.channels(), n.onListening, n.onNotify); err != nil {
		return 0, err
	}
	return 0, errors.New("connection closed")
}

func (n *Notifications) channels() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := make([]string, 0, len(n.sources))
	for _, s := range n.sources {
		names = append(names, s.channel)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (n *Notifications) onListening() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listening = true
	n.connected = n.opts.Clock.Now()
	n.log.Info("listening for notifications")
	for _, s := range n.sources {
		if s.queue != nil {
			s.resync()
		}
	}
}

func (n *Notifications) onNotify(channel, payload string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.sources {
		if s.channel == channel && s.queue != nil {
			s.deliver(payload)
		}
	}
}

// notificationSource hands the notifications of one channel to one queue.
type notificationSource struct {
	hub     *Notifications
	channel string
	keys    func(payload string) []string
	resync  func()
	queue   Enqueuer // guarded by hub.mu; nil unless started
}

// Start takes part in the hub until ctx ends. Joining a connection that stands
// already begins with a resync too: what came before went past this source.
func (s *notificationSource) Start(ctx context.Context, queue Enqueuer) error {
	s.join(queue)
	defer s.join(nil)
	<-ctx.Done()
	return nil
}

func (s *notificationSource) join(queue Enqueuer) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.queue = queue
	if queue != nil && s.hub.listening {
		s.resync()
	}
}

func (s *notificationSource) deliver(payload string) {
	keys := s.keys(payload)
	if len(keys) == 0 {
		s.resync()
		return
	}
	for _, key := range keys {
		s.queue.Add(Request{Key: key})
	}
}
