package kafka

import (
	"errors"
	"sync"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// requestsSeen counts the requests of each kind that the brokers receive.
func requestsSeen(c *kfake.Cluster) func() map[string]int {
	var mu sync.Mutex
	seen := map[string]int{}
	c.Control(func(request kmsg.Request) (kmsg.Response, error, bool) {
		mu.Lock()
		defer mu.Unlock()
		seen[kmsg.NameForKey(request.Key())]++
		c.KeepControl()
		return nil, nil, false
	})
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		found := seen
		seen = map[string]int{}
		return found
	}
}

// TestOneRequestForAllPartitions uses a topic of a thousand partitions over two brokers. A question about all
// partitions reaches each broker as one request.
func TestOneRequestForAllPartitions(t *testing.T) {
	const partitions = 1024
	f, cluster := newCluster(t, partitions)
	var parts []Part
	before := map[int]int64{}
	for p := range partitions {
		parts = append(parts, Part{Partition: p, Payload: eventValue(1)})
		before[p] = 1
	}
	f.produce(parts...)
	f.produce(parts...)
	c := f.consumer(new(recorder), nil)
	seen := requestsSeen(cluster)

	ends, err := f.admin.Ends(t.Context())
	if err != nil || len(ends) != partitions || ends[partitions-1] != 2 {
		t.Fatalf("%d ends, the last is %d, %v", len(ends), ends[partitions-1], err)
	}
	if got := seen()["ListOffsets"]; got != 2 {
		t.Errorf("the ends took %d requests, want one for each leader", got)
	}
	lag, err := c.Lag(t.Context())
	if err != nil || len(lag) != partitions || lag[partitions-1] != 2 {
		t.Fatalf("%d lags, the last is %d, %v", len(lag), lag[partitions-1], err)
	}
	if got := seen(); got["ListOffsets"] != 4 || got["OffsetFetch"] != 1 {
		t.Errorf("the lag took %v, want one look at the starts and one at the ends for each leader, and one at the positions", got)
	}
	if err := f.admin.Trim(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if got := seen(); got["ListOffsets"] != 4 || got["DeleteRecords"] != 2 {
		t.Errorf("trimming took %v, want one look at the starts, one at the ends and one request to delete for each leader", got)
	}
	ranges, err := f.admin.Ranges(t.Context())
	if err != nil || ranges[0] != (Range{1, 2}) || ranges[partitions-1] != (Range{1, 2}) {
		t.Errorf("the log is from %v to %v, %v", ranges[0], ranges[partitions-1], err)
	}
}

// TestTrimmingOverLeaders trims the partitions of two leaders. One leader refuses one partition.
func TestTrimmingOverLeaders(t *testing.T) {
	f, c := newCluster(t, 4)
	before := map[int]int64{}
	for p := range 4 {
		f.produce(Part{Partition: p, Payload: eventValue(1)})
		f.produce(Part{Partition: p, Payload: eventValue(2)})
		before[p] = 1
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DeleteRecords}, Partitions: []int32{3}, Err: kerr.PolicyViolation, Count: 1})
	if err := f.admin.Trim(t.Context(), before); !errors.Is(err, kafkago.PolicyViolation) {
		t.Errorf("got %v, want what the broker said", err)
	}
	for _, start := range []int64{0, 1} { // of partition 3, before and after the second try
		ranges, err := f.admin.Ranges(t.Context())
		if err != nil || ranges[0].Start != 1 || ranges[1].Start != 1 || ranges[2].Start != 1 || ranges[3].Start != start {
			t.Errorf("the log is %v, %v", ranges, err)
		}
		if err := f.admin.Trim(t.Context(), before); err != nil {
			t.Error(err)
		}
	}
}
