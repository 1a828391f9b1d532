package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.uber.org/zap"
)

// Runnable is something that a Manager runs beside its controllers.
type Runnable interface {
	// Start runs until ctx ends, and then returns nil. An error stops the
	// manager; nil before that says that the work is done.
	Start(ctx context.Context) error
}

// Manager runs the controllers of a process.
type Manager struct {
	log *zap.Logger

	mu          sync.Mutex
	started     bool
	runnables   []part
	controllers []*Controller
}

// part is a named Runnable.
type part struct {
	name     string
	runnable Runnable
}

// NewManager returns a manager without controllers. A nil logger is silent.
func NewManager(log *zap.Logger) *Manager {
	return &Manager{log: loggerOrNop(log)}
}

// Add adds a controller. Its name must be new, and the manager not started.
func (m *Manager) Add(c *Controller) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started {
		return fmt.Errorf("add controller %q: the manager has started", c.Name())
	}
	for _, other := range m.controllers {
		if other.Name() == c.Name() {
			return fmt.Errorf("add controller %q: there is one of that name", c.Name())
		}
	}
	m.controllers = append(m.controllers, c)
	return nil
}

// AddRunnable adds what the controllers need, such as Notifications. It starts
// before the controllers and stops after them.
func (m *Manager) AddRunnable(name string, r Runnable) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started {
		return fmt.Errorf("add %s: the manager has started", name)
	}
	m.runnables = append(m.runnables, part{name, r})
	return nil
}

// Status returns a snapshot of each controller, in the order of addition.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Status, len(m.controllers))
	for i, c := range m.controllers {
		all[i] = c.Status()
	}
	return all
}

// Start runs everything until ctx ends or a part fails. It then stops the
// controllers, all at once, since they meet in the database alone, and after
// them the runnables, last added first. It returns every part's error. It can
// be called once.
func (m *Manager) Start(ctx context.Context) error {
	controllers, runnables, err := m.open()
	if err != nil {
		return err
	}
	failed := make(chan struct{}, len(controllers)+len(runnables))
	// The parts' contexts outlive ctx: the order of stopping is ours.
	base := context.WithoutCancel(ctx)
	var workers, helpers []*running
	for _, p := range runnables {
		helpers = append(helpers, run(base, p, failed))
	}
	for _, p := range controllers {
		workers = append(workers, run(base, p, failed))
	}

	select {
	case <-ctx.Done():
		m.log.Info("stopping controllers")
	case <-failed:
		m.log.Error("stopping controllers, one of the parts failed")
	}
	err = stop(workers...)
	for _, h := range slices.Backward(helpers) {
		err = errors.Join(err, stop(h))
	}
	return err
}

func (m *Manager) open() (controllers, runnables []part, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started {
		return nil, nil, errors.New("the manager was started before")
	}
	m.started = true
	for _, c := range m.controllers {
		controllers = append(controllers, part{runnable: c})
	}
	return controllers, slices.Clone(m.runnables), nil
}

// running is a part under way.
type running struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // to be read once done is closed
}

// run starts p and tells failed if it ends with an error.
func run(ctx context.Context, p part, failed chan<- struct{}) *running {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		if r.err = p.start(ctx); r.err != nil {
			failed <- struct{}{}
		}
	}()
	return r
}

// stop cancels the parts, waits for all of them and joins their errors.
func stop(parts ...*running) error {
	for _, r := range parts {
		r.cancel()
	}
	var errs []error
	for _, r := range parts {
		<-r.done
		errs = append(errs, r.err)
	}
	return errors.Join(errs...)
}

// start runs p. A controller names itself in its errors.
func (p part) start(ctx context.Context) (err error) {
	defer func() {
		if err != nil && p.name != "" {
			err = fmt.Errorf("%s: %w", p.name, err)
		}
	}()
	defer recoverAs(&err)
	return p.runnable.Start(ctx)
}
