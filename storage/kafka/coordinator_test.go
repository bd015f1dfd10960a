package kafka

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestPositionsWaitForTheCoordinator sends requests to a cluster that is still preparing the coordinator of its first
// group.
func TestPositionsWaitForTheCoordinator(t *testing.T) {
	cases := []struct {
		name  string
		fault kfake.Fault
	}{
		{"F6: not the coordinator", kfake.Fault{Err: kerr.NotCoordinator, Keys: []kmsg.Key{kmsg.OffsetFetch}}},
		{"F6: not the coordinator, said for the group", kfake.Fault{Err: kerr.NotCoordinator, Keys: []kmsg.Key{kmsg.OffsetFetch}, TopLevel: true}},
		{"the coordinator is not available", kfake.Fault{Err: kerr.CoordinatorNotAvailable, Keys: []kmsg.Key{kmsg.FindCoordinator}}},
		{"the coordinator loads", kfake.Fault{Err: kerr.CoordinatorLoadInProgress, Keys: []kmsg.Key{kmsg.OffsetFetch}, TopLevel: true}},
		{"setting positions: not the coordinator", kfake.Fault{Err: kerr.NotCoordinator, Keys: []kmsg.Key{kmsg.OffsetCommit}}},
		{"setting positions: the coordinator loads", kfake.Fault{Err: kerr.CoordinatorLoadInProgress, Keys: []kmsg.Key{kmsg.OffsetCommit}}},
		{"describing: the coordinator loads", kfake.Fault{Err: kerr.CoordinatorLoadInProgress, Keys: []kmsg.Key{kmsg.DescribeGroups}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f, cluster := newCluster(t, 2)
			consumer := f.consumer(new(recorder), nil)
			c.fault.Count = 3
			fault := cluster.Fault(c.fault)
			want := []Position{{Partition: 0, Offset: 4}, {Partition: 1, Offset: 7}}
			if err := f.admin.Reset(t.Context(), f.group, want); err != nil {
				t.Fatalf("setting positions: %v", err)
			}
			got, err := consumer.Committed(t.Context(), []int{0, 1})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("the positions are %v, %v; want %v", got, err, want)
			}
			if group, err := consumer.describe(t.Context()); err != nil {
				t.Errorf("the group is %v, %v", group, err)
			}
			if hits := fault.Hits(); hits != 3 {
				t.Errorf("the cluster refused %d requests, want 3", hits)
			}
		})
	}
}

// TestAwaitCommitted waits for the records that the log has at the time of the call. It does not wait for later
// records.
func TestAwaitCommitted(t *testing.T) {
	f, _ := newCluster(t, 2)
	c := f.consumer(new(recorder), nil)
	if err := c.AwaitCommitted(t.Context(), func() {}); err != nil {
		t.Errorf("an empty log: %v", err)
	}
	f.produce(Part{Partition: 0, Payload: eventValue(1)}, Part{Partition: 1, Payload: eventValue(2)})
	for _, position := range []Position{{Partition: 0, Offset: 0}, {Partition: 0, Offset: 1}} {
		if err := f.admin.Reset(t.Context(), f.group, []Position{position}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*topicPoll)
		if err := c.AwaitCommitted(ctx, func() {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("positions up to %v: %v, want a timeout", position, err)
		}
		cancel()
	}
	waited := make(chan error, 1)
	go func() { waited <- c.AwaitCommitted(t.Context(), func() {}) }()
	if err := f.admin.Reset(t.Context(), f.group, []Position{{Partition: 1, Offset: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("everything is stored: %v", err)
	}
	f.produce(Part{Partition: 0, Payload: eventValue(3)})
	if lag, err := c.Lag(t.Context()); err != nil || lag[0] != 1 || lag[1] != 0 {
		t.Errorf("the lag is %v, %v", lag, err)
	}
}
