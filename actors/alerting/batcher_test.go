package alerting

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/grain"
	"svc/domain"
)

// stopWorkers stops workers as a node does, and waits for their work.
func stopWorkers(t *testing.T, workers *grain.Workers) {
	t.Helper()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := workers.Run(stopped); err != nil {
		t.Error(err)
	}
}

// TestABatcherGathers lets many monitors report while a call is under way.
func TestABatcherGathers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var gathered batcher
		workers := grain.NewWorkers()
		defer stopWorkers(t, workers)
		var sizes []int
		lost := errors.New("lost")
		send := func(_ context.Context, items []uptimeReport) error {
			sizes = append(sizes, len(items))
			<-time.After(time.Second)
			if len(sizes) == 2 {
				return lost
			}
			return nil
		}
		var done sync.WaitGroup
		results := make([]error, 2*maxReports+2)
		tell := func(n int) {
			done.Go(func() {
				results[n] = gathered.add(t.Context(), workers, web(), uptimeReport{MonitorID: fmt.Sprint("mon_", n)}, send)
			})
		}
		tell(0)
		synctest.Wait()
		for n := 1; n < len(results); n++ {
			tell(n)
		}
		done.Wait()
		tell(0)
		done.Wait()
		synctest.Wait()
		if want := []int{1, maxReports, maxReports, 1, 1}; !reflect.DeepEqual(sizes, want) {
			t.Errorf("calls carried %v, want %v", sizes, want)
		}
		for n, err := range results {
			if (n > 0) != errors.Is(err, lost) {
				t.Errorf("the telling of monitor %d: %v", n, err)
			}
		}
		if len(gathered.next) != 0 {
			t.Errorf("%d applications are remembered", len(gathered.next))
		}
	})
}

// TestABatchEndsWithTheNode lets a call hang without a waiting caller: the stop of the node ends it, and waits until it
// has ended.
func TestABatchEndsWithTheNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var gathered batcher
		workers, ended := grain.NewWorkers(), false
		hanging := func(ctx context.Context, _ []uptimeReport) error {
			<-ctx.Done()
			<-time.After(time.Second)
			ended = true
			return ctx.Err()
		}
		caller, leave := context.WithCancel(t.Context())
		leave()
		if err := gathered.add(caller, workers, web(), uptimeReport{}, hanging); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that leaves: %v", err)
		}
		if stopWorkers(t, workers); !ended {
			t.Error("the node stopped while a batch was under way")
		}
	})
}

// TestOneApplicationDoesNotWaitForAnother lets the call of one application hang.
func TestOneApplicationDoesNotWaitForAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var gathered batcher
		workers := grain.NewWorkers()
		defer stopWorkers(t, workers)
		began := time.Now()
		hanging := func(ctx context.Context, _ []uptimeReport) error { <-ctx.Done(); return ctx.Err() }
		ctx, cancel := context.WithTimeout(t.Context(), grain.IOTime/2)
		defer cancel()
		if err := gathered.add(ctx, workers, web(), uptimeReport{}, hanging); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != grain.IOTime/2 {
			t.Errorf("a call that hangs: %v after %s", err, time.Since(began))
		}
		other := domain.AppRef{Org: "acme", App: "other"}
		if err := gathered.add(t.Context(), workers, other, uptimeReport{}, func(context.Context, []uptimeReport) error { return nil }); err != nil || time.Since(began) != grain.IOTime/2 {
			t.Errorf("another application: %v after %s", err, time.Since(began))
		}
		<-time.After(grain.IOTime)
		synctest.Wait()
	})
}
