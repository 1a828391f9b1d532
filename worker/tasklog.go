package worker

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	maxLogBytes = 1 << 20  // of one attempt
	maxLogChunk = 32 << 10 // of one request
	maxLogLine  = 4 << 10
	logFlush    = 2 * time.Second
	logFinal    = 15 * time.Second // for the last chunks, after the attempt has ended
)

const logCut = "… the rest of this log is left out: it passed its limit of 1 MiB\n"

// taskLog is the log of one attempt on its way to the coordinator. Writing to
// it costs an append to memory and never waits for the network; what is not
// yet sent is at most maxLogBytes.
type taskLog struct {
	coord Coordinator
	lease Lease
	clean sanitizer
	log   *zap.Logger
	// taken is called after a chunk was taken with the number of the next one
	// and the bytes so far, so that a successor in the work dir goes on there.
	taken func(next, size int)

	mu      sync.Mutex
	pending bytes.Buffer
	size    int // bytes accepted
	full    bool
	closed  bool
	wake    chan struct{}

	seq, sent int // of the next chunk, bytes taken; the sender's alone
}

func newTaskLog(coord Coordinator, s *taskState, clean sanitizer, log *zap.Logger) *taskLog {
	return &taskLog{
		coord: coord, lease: s.Lease, clean: clean, log: log, taken: func(int, int) {},
		seq: s.LogSeq, sent: s.LogBytes, size: s.LogBytes, wake: make(chan struct{}, 1),
	}
}

// Logf adds a line, stamped with the time in UTC.
func (l *taskLog) Logf(format string, args ...any) {
	text := l.clean.line(fmt.Sprintf(format, args...), maxLogLine)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.full {
		return
	}
	line := time.Now().UTC().Format("2006-01-02T15:04:05.000Z ") + text + "\n"
	if l.size+len(line)+len(logCut) > maxLogBytes {
		l.full = true
		line = logCut
	}
	l.size += len(line)
	l.pending.WriteString(line)
	if l.pending.Len() >= maxLogChunk/2 {
		l.poke()
	}
}

func (l *taskLog) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// close ends the log: the next chunk sent is the last.
func (l *taskLog) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.poke()
}

// send delivers chunks until the log was closed and its final chunk has
// arrived, ctx ends, or the coordinator wants no more.
func (l *taskLog) send(ctx context.Context) {
	timer := time.NewTimer(logFlush)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-timer.C:
		}
		for {
			chunk, more := l.seal()
			if chunk == nil {
				break
			}
			if !l.deliver(ctx, chunk) || chunk.Final {
				return
			}
			if !more {
				break
			}
		}
		timer.Reset(logFlush)
	}
}

// seal cuts the next chunk from what is pending, at a line's end where one
// fits. It returns nil if there is nothing to send.
func (l *taskLog) seal() (chunk *LogChunk, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending.Len() == 0 && !l.closed {
		return nil, false
	}
	body := l.pending.Bytes()
	if len(body) > maxLogChunk {
		body = body[:bytes.LastIndexByte(body[:maxLogChunk], '\n')+1]
	}
	chunk = &LogChunk{Seq: l.seq, Body: bytes.Clone(body)}
	l.pending.Next(len(body))
	chunk.Final = l.closed && l.pending.Len() == 0
	return chunk, l.pending.Len() > 0 || l.closed && !chunk.Final
}

// deliver sends one chunk until it is taken. It reports whether to go on.
func (l *taskLog) deliver(ctx context.Context, chunk *LogChunk) bool {
	err := retry(ctx, l.log, "append_log", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, heartbeatTimeout)
		defer cancel()
		return l.coord.AppendLog(ctx, l.lease, *chunk)
	})
	if err != nil {
		if !leaseGone(err) && ctx.Err() == nil {
			l.log.Warn("task log not taken", fault(err))
		}
		return false
	}
	l.seq++
	l.sent += len(chunk.Body)
	l.taken(l.seq, l.sent)
	return true
}
