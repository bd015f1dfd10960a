package integrity

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"svc/domain"
	"svc/storage/kafka"
)

// awayStore is a store whose shard 0 does not answer.
type awayStore struct {
	Store
	shards, asked int
}

func (s *awayStore) ShardCount() int     { return s.shards }
func (s *awayStore) Away(shard int) bool { return true }
func (s *awayStore) Admit(context.Context, int, func(context.Context) error) error {
	s.asked++
	return domain.Unavailable("The store", 0)
}

// oneLog is a log of one partition, read up to an offset.
type oneLog struct {
	id          string
	end, stored int64
}

func (l oneLog) ClusterID(context.Context) (string, error) { return l.id, nil }
func (l oneLog) Ranges(context.Context) (map[int]kafka.Range, error) {
	return map[int]kafka.Range{0: {End: l.end}}, nil
}
func (l oneLog) Reset(context.Context, string, []kafka.Position) error { return nil }
func (l oneLog) Committed(context.Context, []int) ([]kafka.Position, error) {
	return []kafka.Position{{Partition: 0, Offset: l.stored}}, nil
}

// TestANodeKnowsWhoseDataThisIs starts nodes while the store is unavailable. A node continues if everything matches its
// notes, waits for the store if something differs, and is refused if the log lost its end.
func TestANodeKnowsWhoseDataThisIs(t *testing.T) {
	noted := known{Set: "set_1", Key: "key", Log: "log", Shards: 2, FirstStart: true}
	for name, c := range map[string]struct {
		noted  known
		log    oneLog
		key    string
		shards int
		waits  bool
		want   error
	}{
		"as noted":         {noted, oneLog{"log", 10, 10}, "key", 2, false, nil},
		"nothing is noted": {known{}, oneLog{"log", 10, 10}, "key", 2, true, nil},
		"another key":      {noted, oneLog{"log", 10, 10}, "other", 2, true, nil},
		"another log":      {noted, oneLog{"other", 10, 10}, "key", 2, true, nil},
		"a further store":  {noted, oneLog{"log", 10, 10}, "key", 3, true, nil},
		"a log cut off":    {noted, oneLog{"log", 5, 10}, "key", 2, false, ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			store := &awayStore{shards: c.shards}
			i := &Identity{
				Inspection: &Inspection{}, Store: store, Log: c.log, Consumer: c.log, Partitions: []int{0},
				Key: func() (string, error) { return c.key, nil }, Known: filepath.Join(t.TempDir(), "known.json"), Progress: filepath.Join(t.TempDir(), "none"),
			}
			if i.known = c.noted; c.noted.Set != "" {
				if err := i.writeKnown(); err != nil {
					t.Fatal(err)
				}
				i.known = known{}
			}
			err := i.Check(t.Context())
			switch {
			case c.waits:
				if domain.CodeOf(err) != domain.CodeUnavailable || store.asked != 1 || i.FirstStarted() {
					t.Errorf("%v, and the store was asked %d times", err, store.asked)
				}
			case !errors.Is(err, c.want) || store.asked != 0:
				t.Errorf("%v, want %v, and the store was asked %d times", err, c.want, store.asked)
			case c.want == nil && (i.set != noted.Set || !i.FirstStarted()):
				t.Errorf("the node knows %+v", i.known)
			}
		})
	}
}
