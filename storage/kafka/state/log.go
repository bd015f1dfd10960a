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
	// ErrLost reports a partition that this process does not own, or not any more. What was to
	// be saved does not count and never will.
	ErrLost = errors.New("the partition has another owner")

	// ErrUnknown reports records that may be in the log or come to be: the broker did not answer
	// for as long as the caller, or the ownership, had time.
	ErrUnknown = errors.New("it is unknown whether the records are saved")

	// ErrTooLarge reports records that exceed what one batch may hold. Nothing is saved.
	ErrTooLarge = errors.New("the records exceed one batch")

	// ErrGap reports a position that the log cannot go on from: what follows it was trimmed, or
	// the log ends before it. The reader starts over from the zero Position.
	ErrGap = errors.New("the log does not have what follows the position")
)

// Reign is the number that an owner's records carry. The zero Reign is that of no owner: a
// reader that begins with it takes every record before the first barrier for one that counts.
type Reign uint64

// Position is a place in a partition: the offset of the next record, and the reign of the last
// barrier before it. The zero Position is the start of the log, wherever it is.
type Position struct {
	Offset int64
	Reign  Reign
}

// Record is the value of a key; a nil value removes the key. Keys are not empty and do not
// begin with a zero byte: those are the log's own.
type Record struct {
	Key   string
	Value []byte
}

// Entry is a record of the log.
type Entry struct {
	Record
	Offset int64
	// Void marks a record that does not count: its writer was no owner any more.
	Void bool
	// Free marks a record that was appended without ownership.
	Free bool
}

// Config describes a log.
type Config struct {
	Brokers []string
	// Dial makes connections; nil is the network's.
	Dial       kafka.DialFunc
	Topic      string
	Partitions int

	// Replicas is the number of copies that a cluster keeps of a new topic. The default is the
	// cluster's own.
	Replicas int

	// Compact has the cluster compact the topic. It is not for the embedded broker, which serves
	// nobody while it compacts: there the owners trim ([Log.Trim]).
	Compact bool

	// Name is this process's name in barriers, for people who read the topic.
	Name   string
	Logger *slog.Logger
}

// Log is a topic of state. Its methods may be called at the same time.
type Log struct {
	cfg Config
	// client carries all requests but those of followers, which wait at the broker and would
	// hold up others on the same connection.
	client    *kgo.Client
	sender    *sender
	free      []*appender
	anonymous anonymous

	mu       sync.Mutex
	owners   map[int]*Owner   // the newest of each partition; guarded by mu
	barriers map[int]Position // the newest barrier that a follower saw, and its offset; guarded by mu
}

const (
	// clientID names this program in the logs of brokers.
	clientID = "svc"
	// dialTime bounds one attempt to connect.
	dialTime = 2 * time.Second
	// requestTime bounds one request.
	requestTime = 10 * time.Second
	// compactLag is the age from which on a cluster compacts records.
	compactLag = 24 * time.Hour
	// largestBatch is the largest batch that the topic takes.
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
		// Later versions name topics by numbers, which a request of ours would have to know.
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

// Close drops the connections. Owners and followers end before it.
func (l *Log) Close() { l.client.Close() }

// Ensure returns once the topic exists with its settings. It creates a missing topic and
// refuses one with another partition count with [kafka.ErrPartitions]. While no broker answers
// it tries again until ctx ends.
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
