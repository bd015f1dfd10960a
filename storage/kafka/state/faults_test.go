package state

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// counted reads a whole partition and counts the records that count, by key and value.
func counted(t testing.TB, l *Log) map[string]int {
	t.Helper()
	found := map[string]int{}
	end, err := l.offset(t.Context(), 0, latest)
	if err == nil {
		err = l.until(t.Context(), 0, new(cursor), end, func(entries []Entry) {
			for _, e := range entries {
				if !e.Void {
					found[e.Key+"="+string(e.Value)]++
				}
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestAnswersOfABroker makes a broker answer the second of three saves with errors, with and without appending it. In
// the end the owner knows which of the two happened.
func TestAnswersOfABroker(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		faults []*kerr.Error
		fails  error // the error of the second save
		over   bool  // the owner is lost after it
	}{
		{"it timed out and appended", []*kerr.Error{kerr.RequestTimedOut}, nil, false},
		{"it appended and says so at the repetition", []*kerr.Error{kerr.RequestTimedOut, kerr.DuplicateSequenceNumber}, nil, false},
		{"it led the partition no more", []*kerr.Error{kerr.NotLeaderForPartition}, nil, false},
		{"it could not write", []*kerr.Error{kerr.UnknownServerError}, nil, false},
		{"it does not know the producer", []*kerr.Error{kerr.UnknownProducerID}, nil, false},
		{"it knows another number", []*kerr.Error{kerr.OutOfOrderSequenceNumber}, nil, false},
		{"it appended, and forgot the producer", []*kerr.Error{kerr.RequestTimedOut, kerr.UnknownProducerID}, nil, false},
		{"the records are too large for it", []*kerr.Error{kerr.MessageTooLarge}, ErrTooLarge, false},
		{"it knows a newer producer", []*kerr.Error{kerr.InvalidProducerEpoch}, ErrLost, true},
		{"it appended, and knows a newer producer", []*kerr.Error{kerr.RequestTimedOut, kerr.InvalidProducerEpoch}, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, broker := simulated(t, 2)
			l := c.open(t, "one")
			o, _ := take(t, l, Position{})
			put(t, o, "a", "1")
			for _, fault := range test.faults {
				broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: fault, Count: 1})
			}
			err := o.Save(t.Context(), []Record{{"b", []byte("2")}})
			if !errors.Is(err, test.fails) {
				t.Errorf("got %v, want %v", err, test.fails)
			}
			want := map[string]int{"a=1": 1}
			if err == nil {
				want["b=2"] = 1
			}
			if err := o.Save(t.Context(), []Record{{"c", []byte("3")}}); test.over != errors.Is(err, ErrLost) {
				t.Errorf("the next save: %v", err)
			} else if err == nil {
				want["c=3"] = 1
			}
			if found := counted(t, l); fmt.Sprint(found) != fmt.Sprint(want) {
				t.Errorf("the log has %v, want %v", found, want)
			}
		})
	}
}

// TestSavesSurviveAChangeOfLeaders moves the partition between brokers while many callers save.
func TestSavesSurviveAChangeOfLeaders(t *testing.T) {
	t.Parallel()
	c, broker := simulated(t, 1)
	l := c.open(t, "one")
	o, _ := take(t, l, Position{})
	m := new(memory)
	f := follow(t, c.open(t, "follower"), m)
	var all sync.WaitGroup
	for who := range 4 {
		all.Go(func() {
			for n := range 30 {
				put(t, o, fmt.Sprint(who, "-", n), "v")
				if who == 0 && n%5 == 0 {
					if err := broker.MoveTopicPartition(testTopic, 0, int32(n/5%2)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	found := counted(t, l)
	for key, times := range found {
		if times != 1 {
			t.Errorf("%s is there %d times", key, times)
		}
	}
	if len(found) != 4*30 {
		t.Errorf("%d records count, want %d", len(found), 4*30)
	}
	await(t, l, f)
	if len(m.values) != 4*30 || m.gaps > 0 {
		t.Errorf("the follower has %d values after %d gaps", len(m.values), m.gaps)
	}
}

// TestACallerThatGivesUp checks that such a caller learns whether its records were sent.
func TestACallerThatGivesUp(t *testing.T) {
	t.Parallel()
	c, broker := simulated(t, 1)
	l := c.open(t, "one")
	o, _ := take(t, l, Position{})
	wake := make(chan struct{})
	broker.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		broker.DropControl()
		broker.SleepControl(func() { <-wake })
		return nil, nil, false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	results := make(chan error, 2)
	go func() { results <- o.Save(ctx, []Record{{"sent", []byte("1")}}) }()
	eventually(t, "the first save is on its way", func() bool {
		o.queue.mu.Lock()
		defer o.queue.mu.Unlock()
		return o.queue.running && len(o.queue.waiting) == 0
	})
	if err := o.Save(ctx, []Record{{"queued", []byte("1")}}); errors.Is(err, ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the queued one got %v", err)
	}
	if err := <-results; !errors.Is(err, ErrUnknown) {
		t.Errorf("the one on its way got %v", err)
	}
	close(wake)
	put(t, o, "after", "1")
	if found := counted(t, l); fmt.Sprint(found) != "map[after=1:1 sent=1:1]" {
		t.Errorf("the log has %v", found)
	}
}

// TestTwoTakeAtOnce lets processes take one partition again and again. In the end one of them owns it, and no
// acknowledged save is missing.
func TestTwoTakeAtOnce(t *testing.T) {
	t.Parallel()
	c, _ := simulated(t, 1)
	var mu sync.Mutex
	saved := map[string]bool{}
	var all sync.WaitGroup
	for who := range 3 {
		l := c.open(t, fmt.Sprint(who))
		all.Go(func() {
			for n := range 20 {
				o, err := l.Take(t.Context(), 0, Position{}, func([]Entry) {}, func([]string) {})
				if errors.Is(err, ErrLost) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				for m := range 3 {
					key := fmt.Sprint(who, "-", n, "-", m)
					if err := o.Save(t.Context(), []Record{{key, []byte("v")}}); err == nil {
						mu.Lock()
						saved[key+"=v"] = true
						mu.Unlock()
					} else if !errors.Is(err, ErrLost) {
						t.Errorf("%s: %v", key, err)
					}
				}
			}
		})
	}
	all.Wait()
	found := counted(t, c.open(t, "reader"))
	if len(found) != len(saved) {
		t.Errorf("%d records count, %d were acknowledged", len(found), len(saved))
	}
	for key := range saved {
		if found[key] != 1 {
			t.Errorf("%s is there %d times", key, found[key])
		}
	}
}

// TestAnswersAboutFreeRecords is TestAnswersOfABroker for records without an owner.
func TestAnswersAboutFreeRecords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		faults []*kerr.Error
		fails  error
	}{
		{"it timed out and appended", []*kerr.Error{kerr.RequestTimedOut}, nil},
		{"it led the partition no more", []*kerr.Error{kerr.NotLeaderForPartition}, nil},
		{"it does not know the producer", []*kerr.Error{kerr.UnknownProducerID}, nil},
		{"it knows another number", []*kerr.Error{kerr.OutOfOrderSequenceNumber}, nil},
		{"it appended, and forgot the producer", []*kerr.Error{kerr.RequestTimedOut, kerr.UnknownProducerID}, ErrUnknown},
		{"it could not write", []*kerr.Error{kerr.UnknownServerError}, ErrUnknown},
		{"the records are too large for it", []*kerr.Error{kerr.MessageTooLarge}, ErrTooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, broker := simulated(t, 2)
			l := c.open(t, "one")
			add := func(key string) error { return l.Append(t.Context(), 0, []Record{{key, []byte("1")}}) }
			if err := add("a"); err != nil {
				t.Fatal(err)
			}
			for _, fault := range test.faults {
				broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: fault, Count: 1})
			}
			if err := add("b"); !errors.Is(err, test.fails) {
				t.Errorf("got %v, want %v", err, test.fails)
			}
			if err := add("c"); err != nil {
				t.Errorf("the next append: %v", err)
			}
			found := counted(t, l)
			if found["a=1"] != 1 || found["c=1"] != 1 || found["b=1"] > 1 || test.fails == nil && found["b=1"] == 0 {
				t.Errorf("the log has %v", found)
			}
		})
	}
}
