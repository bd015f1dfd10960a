package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"svc/domain/event"
)

// Defaults of ConsumerConfig. Six seconds is the shortest session that a Kafka cluster with default settings accepts.
const (
	defaultSession   = 6 * time.Second
	defaultHeartbeat = 250 * time.Millisecond
	defaultRebalance = 10 * time.Second

	// privateSession is the session of a member that is the only possible one. It also limits how long that member
	// waits for the broker inside its own process.
	privateSession = 5 * time.Minute

	// rejoinTime is the pause before another attempt to join the group.
	rejoinTime = 100 * time.Millisecond

	// coordinatorTime limits one request to the group coordinator. A member that lost its network gives up its
	// generation when a heartbeat takes longer. This must happen before its session ends and other members take over.
	coordinatorTime = 5 * time.Second

	// endTime limits the work of a member before it lets a rebalance continue. The other members wait for it, so it
	// must stay below their rebalance timeout.
	endTime = 3 * time.Second
)

// ConsumerConfig describes a member of a consumer group. Zero durations mean the defaults.
type ConsumerConfig struct {
	Brokers []string
	Topic   string
	Group   string

	// UserData is the node's address, which the other members see through [Consumer.Owners]. Members with the same
	// address are the same node: a new member removes the ones that an earlier process of the node left in the group.
	UserData []byte

	// Secret signs the user data. Members with another secret are foreign: this member assigns no partition to them and
	// does not join a group that has them.
	Secret string

	Handler Handler

	// Places makes all partitions with the same remainder modulo Places belong to one member. If it is zero, each
	// partition may belong to any member.
	Places int

	// Session is how long a silent member retains its partitions. Heartbeat is the pause between heartbeats, and thus
	// the delay before a member notices a rebalance. Rebalance limits the wait for slow members.
	Session   time.Duration
	Heartbeat time.Duration
	Rebalance time.Duration

	// Dial opens connections. If it is nil, connections go over the network.
	Dial DialFunc

	// Private means that no other process can reach the broker, so that this is the only possible member. The default
	// sessions and timeouts are then so long that a process without CPU time does not lose its own membership.
	Private bool

	// Gather is the pause before the next read of a partition after its end was reached. Records that arrive one by one
	// are then delivered together, later by up to Gather.
	Gather time.Duration

	// FetchBytes is the target size of one fetch answer of a partition. Zero means 4 MiB. One record may exceed it.
	FetchBytes int

	// Gap is called with a range of offsets that were not delivered because they are no longer in the log. The range
	// includes from and excludes to. Gap may be nil.
	Gap func(partition int, from, to int64)

	Logger *slog.Logger
}

// Handler receives the events of a member, generation by generation.
type Handler interface {
	// Assigned begins a generation. The assignment names the partitions that this node owns, with the committed offset
	// and text of each. The result names the offsets to start at; other partitions start at their committed offset. No
	// record of the generation is delivered before Assigned returns. An error ends the generation, and the next one
	// begins after a pause.
	Assigned(ctx context.Context, a Assignment) (starts map[int]int64, err error)

	// Records delivers records of one partition in offset order. If it blocks, only that partition waits. ctx ends with
	// the generation. highWater is the offset after the partition's last record. The handler may retain the records. An
	// error ends the generation, and the partition starts again at its committed offset.
	Records(ctx context.Context, partition int, records []Record, highWater int64) error

	// Ending is called when a generation is about to end, because of a rebalance or because this node leaves. No call
	// of Records is running any more. Commits are still accepted unless the generation is already over. Other members
	// wait until Ending returns, so ctx ends soon.
	Ending(ctx context.Context, generation int32)

	// Revoked ends the generation. No call of Records is running any more, and commits of the generation are refused.
	Revoked(generation int32)
}

// Assignment is a member's share of the partitions in one generation. The position of a partition without a commit is
// its earliest offset.
type Assignment = event.LogAssignment

// Position is how far a partition is consumed.
type Position = event.LogPosition

// Record is one record of a partition.
type Record = event.LogRecord

// Consumer is a member of a consumer group. Its methods may be called
// concurrently.
type Consumer struct {
	cfg      ConsumerConfig
	link     *link
	balancer *balancer

	// patience limits one membership request.
	patience time.Duration

	lease       lease
	beats       sharedBeats
	heartbeater heartbeater

	// quiet is closed when no more records may be delivered.
	quiet     chan struct{}
	quietOnce sync.Once

	// stopping is closed when Run ends, before this member leaves the group.
	stopping chan struct{}

	mu      sync.Mutex
	current session
	ends    map[int]*atomic.Int64
	foreign error
}

// session is the generation that this member takes part in. Generations count from 1, so the zero value means none.
type session struct {
	generation int32
	member     string
}

// NewConsumer checks cfg. It joins the group in [Consumer.Run].
func NewConsumer(cfg ConsumerConfig) (*Consumer, error) {
	if len(cfg.Brokers) == 0 || cfg.Topic == "" || cfg.Group == "" || cfg.Handler == nil {
		return nil, errors.New("consumer needs brokers, a topic, a group and a handler")
	}
	patience := coordinatorTime
	if cfg.Private {
		cfg.Session, cfg.Rebalance = cmp.Or(cfg.Session, privateSession), cmp.Or(cfg.Rebalance, privateSession)
		patience = privateSession
	}
	cfg.Session = cmp.Or(cfg.Session, defaultSession)
	cfg.Heartbeat = cmp.Or(cfg.Heartbeat, defaultHeartbeat)
	cfg.Rebalance = cmp.Or(cfg.Rebalance, defaultRebalance)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	link := newLinkOver(cfg.Dial, cfg.Brokers, cfg.Topic)
	return &Consumer{
		cfg:         cfg,
		link:        link,
		patience:    min(patience, cfg.Session*2/3),
		heartbeater: heartbeater{link: link, group: cfg.Group, dial: cfg.Dial},
		balancer:    newBalancer(cfg),
		lease:       lease{term: leaseShare(min(cfg.Session, cfg.Rebalance)), now: SinceBoot},
		quiet:       make(chan struct{}),
		stopping:    make(chan struct{}),
		ends:        make(map[int]*atomic.Int64),
	}, nil
}

// Run takes part in the group until ctx ends. It then waits for the handler, leaves the group so that the other members
// take over at once, and returns nil.
func (c *Consumer) Run(ctx context.Context) error {
	defer c.link.close()
	if err := c.evict(ctx); err != nil && ctx.Err() == nil {
		c.cfg.Logger.Warn("removing an earlier life from the group", "error", err)
	}
	if !c.awaitNatives(ctx) {
		return nil
	}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	var keeper sync.WaitGroup
	keeper.Go(func() { c.keep(keeping) })
	defer keeper.Wait()
	defer stop()
	group, err := kafkago.NewConsumerGroup(kafkago.ConsumerGroupConfig{
		ID:                c.cfg.Group,
		Brokers:           c.cfg.Brokers,
		Topics:            []string{c.cfg.Topic},
		GroupBalancers:    []kafkago.GroupBalancer{c.balancer},
		HeartbeatInterval: c.cfg.Heartbeat,
		SessionTimeout:    c.cfg.Session,
		RebalanceTimeout:  c.cfg.Rebalance,
		JoinGroupBackoff:  rejoinTime,
		Timeout:           c.patience,
		Dialer:            &kafkago.Dialer{ClientID: clientID, Timeout: dialTime, DialFunc: c.cfg.Dial},
	})
	if err != nil {
		return fmt.Errorf("joining group: %w", err)
	}
	for trouble := false; ; {
		generation, err := group.Next(ctx)
		switch {
		case err == nil:
			trouble = false
			generation.Start(func(ended context.Context) { c.serve(ended, generation) })
		case ctx.Err() != nil:
			close(c.stopping)
			if err := group.Close(); err != nil {
				return fmt.Errorf("leaving group: %w", err)
			}
			return nil
		case !trouble && !errors.Is(err, kafkago.RebalanceInProgress):
			trouble = true
			c.cfg.Logger.Warn("joining the group", "error", err)
		}
	}
}

// serve runs one generation. When it returns, the generation ends.
func (c *Consumer) serve(ended context.Context, g *kafkago.Generation) {
	ctx, cancel := context.WithCancel(ended)
	defer cancel()
	owned := make([]int, 0, len(g.Assignments[c.cfg.Topic]))
	for _, p := range g.Assignments[c.cfg.Topic] {
		owned = append(owned, p.ID)
	}
	c.balancer.own(g.ID, owned)
	s := session{g.ID, g.MemberID}
	c.setSession(s, owned)
	err := c.beginLease(ctx, s, owned)
	if err == nil {
		err = c.deliver(ctx, owned)
	}
	c.lease.rebalance(s) // the client library rejoins the group when this returns
	last, done := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	c.cfg.Handler.Ending(last, g.ID)
	done()
	c.setSession(session{}, nil)
	c.cfg.Handler.Revoked(g.ID)
	select {
	case <-c.stopping:
		c.lease.end(s) // this member leaves the group next, and other members take over at once
	default:
	}
	if err != nil && ctx.Err() == nil {
		c.cfg.Logger.Error("generation ends early", "generation", g.ID, "error", err)
		pause(ctx, rejoinTime)
	}
}

// beginLease begins the lease of a session. It returns once the coordinator has confirmed that the session is the
// current one; nothing is served before.
func (c *Consumer) beginLease(ctx context.Context, s session, owned []int) error {
	c.lease.begin(s)
	if len(owned) == 0 {
		err := c.lookForForeign(ctx)
		c.mu.Lock()
		c.foreign = err
		c.mu.Unlock()
		if err != nil {
			c.cfg.Logger.Error("this node gets nothing of the group", "error", err)
		}
	}
	return c.beats.do(ctx, s, c.beat)
}

// setSession makes s the current session and drops the high-water marks of the previous one.
func (c *Consumer) setSession(s session, owned []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = s
	if s.generation == 0 {
		return
	}
	clear(c.ends)
	for _, p := range owned {
		c.ends[p] = new(atomic.Int64)
	}
}

// deliver announces the assignment and reads the owned partitions until ctx ends or one partition fails.
func (c *Consumer) deliver(ctx context.Context, owned []int) error {
	c.mu.Lock()
	now := c.current
	c.mu.Unlock()
	positions, err := c.begin(ctx, now, owned)
	for err != nil && pause(ctx, retryLast) {
		positions, err = c.begin(ctx, now, owned)
	}
	if err != nil {
		return err
	}
	starts, err := c.cfg.Handler.Assigned(ctx, Assignment{
		Generation: now.generation,
		Member:     now.member,
		Partitions: positions,
	})
	if err != nil {
		return fmt.Errorf("taking the assignment: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var readers sync.WaitGroup
	for _, p := range positions {
		if start, ok := starts[p.Partition]; ok {
			p.Offset = start
		}
		r := c.newReader(p)
		readers.Go(func() {
			if err := r.run(reading); err != nil {
				cancel(err)
			}
		})
	}
	select {
	case <-c.quiet:
		stop()
		readers.Wait()
	case <-ctx.Done():
	}
	<-ctx.Done()
	readers.Wait()
	return context.Cause(ctx)
}

// begin returns the committed positions of a generation. If a position lies after the end of its partition, begin moves
// it to that end; otherwise the records that get the offsets in between would never be read.
func (c *Consumer) begin(ctx context.Context, now session, owned []int) ([]Position, error) {
	positions, err := c.Committed(ctx, owned)
	if err != nil {
		return nil, err
	}
	ends, err := c.link.ends(ctx, c.cfg.Topic, owned)
	if err != nil {
		return nil, err
	}
	var moved []Position
	for i, p := range positions {
		if end := ends[p.Partition]; p.Offset > end {
			c.cfg.Logger.Error("the log lost its end", "error", &lostEnd{p.Partition, p.Offset, end})
			positions[i] = Position{Partition: p.Partition, Offset: end}
			moved = append(moved, positions[i])
		}
	}
	return positions, c.Commit(ctx, now.generation, moved)
}

// Quiesce permanently stops the delivery of records but retains the membership. Delivered records can still be
// committed, and another member cannot take over before Run ends.
func (c *Consumer) Quiesce() { c.quietOnce.Do(func() { close(c.quiet) }) }

// HighWater returns the offset after the last record of an owned partition, from the broker's latest answer. ok is
// false for other partitions and before the first answer.
func (c *Consumer) HighWater(partition int) (end int64, ok bool) {
	c.mu.Lock()
	known := c.ends[partition]
	c.mu.Unlock()
	if known == nil {
		return 0, false
	}
	end = known.Load()
	return end, end > 0
}
