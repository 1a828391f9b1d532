package jobstep

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

var (
	errTaken = errors.New("taken")
	errDown  = errors.New("database is down")
)

func isLost(err error) bool { return errors.Is(err, errTaken) }

func TestKeepRenewsUntilStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renewals := 0
		ctx, stop := Keep(t.Context(), clock.RealClock{}, func(context.Context) error { renewals++; return nil }, isLost)
		time.Sleep(10*Every + Every/2)
		if ctx.Err() != nil {
			t.Errorf("context ended: %v", context.Cause(ctx))
		}
		stop()
		time.Sleep(time.Minute)
		if renewals != 10 {
			t.Errorf("%d renewals, want 10", renewals)
		}
	})
}

func TestALostClaimEndsTheWorkAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := Keep(t.Context(), clock.RealClock{}, func(context.Context) error { return errTaken }, isLost)
		defer stop()
		time.Sleep(Every + time.Millisecond)
		if err := context.Cause(ctx); !errors.Is(err, ErrLost) || !errors.Is(err, errTaken) {
			t.Errorf("cause %v, want a lost step", err)
		}
	})
}

func TestTheWorkOutlivesAShortOutageOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := Keep(t.Context(), clock.RealClock{}, func(context.Context) error { return errDown }, isLost)
		defer stop()
		time.Sleep(TTL - time.Millisecond)
		if ctx.Err() != nil {
			t.Error("the work ended before the claim could have run out")
		}
		time.Sleep(Every)
		if err := context.Cause(ctx); !errors.Is(err, ErrLost) {
			t.Errorf("cause %v, want a lost step", err)
		}
	})
}
