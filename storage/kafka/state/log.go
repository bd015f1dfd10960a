package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"svc/storage/kafka"
)

var (
	// ErrLost reports a partition that this process does not own, or no longer owns. The records of the call do not
	// count and never will.
	ErrLost = errors.New("the partition has another owner")

	// ErrUnknown reports records that may be in the log or may still reach it: the broker did not answer before the
	// caller's deadline or the end of the ownership.
	ErrUnknown = errors.New("it is unknown whether the records are saved")

	// ErrTooLarge reports records that exceed one batch. Nothing is saved.
	ErrTooLarge = errors.New("the records exceed one batch")

	// ErrGap reports a position from which the log cannot continue: the records after it were trimmed, or the log ends
	// before it. The reader starts over from the zero Position.
	ErrGap = errors.New("the log does not have what follows the position")
)

// Reign is the number that an owner's records carry. The zero Reign belongs to no owner: for a reader that begins with
// it, every record before the first barrier counts.
type Reign uint64

// Position is a place in a partition: the offset of the next record, and the reign of the last barrier before it. The
// zero Position is the start of the log, at any offset.
type Position struct {
	Offset int64
	Reign  Reign
}

// Record is the value of a key. A nil value removes the key. A key is not empty and does not begin with a zero byte:
// such keys belong to the log itself.
type Record struct {
	Key   string
	Value []byte
}

// Entry is a record of the log.
type Entry struct {
	Record
	Offset int64
	// Void marks a record that does not count: its writer was no longer the owner.
	Void bool
	// Free marks a record that was appended without ownership.
	Free bool
}

// Config describes a log.
type Config struct {
	Brokers []string
	// Dial opens connections. If it is nil, connections go over the network.
	Dial       kafka.DialFunc
	Topic      string
	Partitions int

	// Replicas is the number of copies of a new topic in a cluster. The default is the cluster's own setting.
	Replicas int

	// Compact makes the cluster compact the topic. Do not set it for the embedded broker, which serves no request while
	// it compacts: there the owners trim ([Log.Trim]).
	Compact bool

	// Name is this process's name in barriers. It helps people who read the topic.
	Name   string
	Logger *slog.Logger
}

// Log is a topic of state. Its methods may be called concurrently.
type Log struct {
	cfg Config
	// client carries all requests except those of followers. Requests of followers wait at the broker and would delay
	// others on the same connection.
	client    *kgo.Client
	sender    *sender
	free      []*appender
	anonymous anonymous

	mu       sync.Mutex
	owners   map[int]*Owner   // the newest owner of each partition; guarded by mu
	barriers map[int]Position // the newest barrier that a follower saw, and its offset; guarded by mu
}

const (
	// clientID names this program in the logs of brokers.
	clientID = "svc"
	// dialTime limits one connection attempt.
	dialTime = 2 * time.Second
	// requestTime limits one request.
	requestTime = 10 * time.Second
	// compactLag is the minimum age of records that a cluster compacts.
	compactLag = 24 * time.Hour
	// largestBatch is the maximum batch size of the topic, in bytes.
	largestBatch = 8 << 20
)

// Open returns a log. It connects on first use.
func Open(cfg Config) (*Log, error) {
	if len(cfg.Brokers) == 0 || cfg.Topic == "" || cfg.Partitions < 1 {
		return nil, errors.New("a log of state needs brokers, a topic and partitions")
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	client, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, client: client, owners: map[int]*Owner{}, barriers: map[int]Position{}}
	l.sender = newSender(l)
	for p := range cfg.Partitions {
		l.free = append(l.free, newAppender(l, p))
	}
	return l, nil
}

// connect returns a client of the cluster.
func connect(cfg Config) (*kgo.Client, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(cfg.Brokers...), kgo.ClientID(clientID), kgo.DialTimeout(dialTime),
		kgo.RetryTimeout(requestTime), kgo.MetadataMinAge(leadersAge),
		// Later versions identify topics by ids, which our own requests would have to know.
		kgo.MaxVersions(kversion.V3_0_0()),
	}
	if cfg.Dial != nil {
		options = append(options, kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			return cfg.Dial(ctx, network, address)
		}))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("opening the log of state: %w", err)
	}
	return client, nil
}

// Close closes the connections. Owners and followers must end first.
func (l *Log) Close() { l.client.Close() }

// Ensure returns once the topic exists with its settings. It creates a missing topic. If the topic has another
// partition count, it returns [kafka.ErrPartitions]. While no broker answers it retries until ctx ends.
func (l *Log) Ensure(ctx context.Context) error {
	topic, err := kafka.NewTopic(l.topic())
	if err != nil {
		return err
	}
	defer topic.Close()
	return topic.Ensure(ctx)
}

func (l *Log) topic() kafka.TopicConfig {
	cfg := kafka.TopicConfig{
		Brokers: l.cfg.Brokers, Dial: l.cfg.Dial, Topic: l.cfg.Topic, Partitions: l.cfg.Partitions, Replicas: l.cfg.Replicas,
		LargestBatch: largestBatch,
	}
	if l.cfg.Compact {
		cfg.CompactLag = compactLag
	}
	return cfg
}

// producerName is the transactional id of a partition's producer.
func (l *Log) producerName(partition int) string { return l.cfg.Topic + "-" + strconv.Itoa(partition) }

func newReign() Reign {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return Reign(binary.BigEndian.Uint64(b[:]) | 1)
}

// pause waits for d, or less if ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
