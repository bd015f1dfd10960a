package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/cmd/svc/health"
	"svc/cmd/svc/integrity"
	"svc/cmd/svc/settings"
	"svc/domain"
	"svc/domain/event"
	"svc/storage/kafka"
	"svc/storage/kafka/broker"
	statelog "svc/storage/kafka/state"
	"svc/storage/owned"
)

// Names in the log.
const (
	ingestTopic = "ingest"
	stateTopic  = "state"
	intakeGroup = "intake"
)

// retentionEvery is the interval at which the log is trimmed. It is long enough to cost nothing, and short enough that
// a full load adds only about half a gigabyte in between.
const retentionEvery = 10 * time.Second

// openLog opens the log, embedded or not, with its producer, its consumer and its retention.
func (n *node) openLog(ctx context.Context) (err error) {
	brokers := n.config.KafkaBrokers
	var dial kafka.DialFunc
	if len(brokers) == 0 {
		n.broker, err = n.openBroker(broker.Config{ //nolint:contextcheck // the broker outlives the context of its opening
			Dir: n.dir.Join("log"), Addr: n.config.KafkaListen, Sync: n.config.LogSync == settings.SyncAlways, Topics: []string{ingestTopic, stateTopic}, Partitions: n.config.Partitions,
			Wider: map[string]int{ingestTopic: n.shape().Total()}, Logger: n.logger,
		})
		if err != nil {
			return err
		}
		brokers, dial = n.broker.Addrs(), n.broker.Dial
	}
	n.topic, err = kafka.NewTopic(kafka.TopicConfig{Brokers: brokers, Topic: ingestTopic, Partitions: n.shape().Total(), Step: n.config.Partitions, Roll: n.config.LogRetention / 4})
	if err != nil {
		return err
	}
	if err := n.topic.Ensure(ctx); errors.Is(err, kafka.ErrPartitions) {
		return fmt.Errorf("%w; it has SVC_PARTITIONS partitions for each store that SVC_CLICKHOUSE_DSN listed, and cannot have fewer", err)
	} else if err != nil {
		return err
	}
	if n.broker == nil {
		health.WarnOfForgottenPositions(ctx, n.topic, n.logger)
	}
	n.producer, err = kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: ingestTopic, Partitions: n.shape().Total(), Timeout: produceTime, Dial: dial, Logger: n.logger})
	if err != nil {
		return err
	}
	n.consumer, err = kafka.NewConsumer(kafka.ConsumerConfig{
		Brokers: brokers, Topic: ingestTopic, Group: intakeGroup, UserData: []byte(n.nodeAddr()), Secret: n.config.ClusterSecret.Reveal(),
		Dial: dial, Private: n.broker != nil && n.config.KafkaListen == "" && n.config.NodeAddr == "",
		Handler: streamHandler{n}, Places: n.config.Partitions, Logger: n.logger,
		FetchBytes: n.memory.FetchBytes(n.shape().Total()),
		Gather:     min(n.config.FlushInterval/gatherShare, gatherMost),
		Gap: func(partition int, from, to int64) {
			n.logger.Error("the log lost records that were not stored", "partition", partition, "from", from, "to", to)
		},
	})
	if err != nil {
		return err
	}
	n.backlog, n.retention = health.NewBacklog(n.consumer, n.now), n.newRetention()
	if n.clustered.wire != nil {
		n.clustered.directory = kafka.NewDirectory(n.consumer)
	}
	return n.openStateLog(ctx, brokers, dial)
}

// newRetention returns the trimmer of the log: by age, and for an embedded log by size as well. The node of the
// embedded log trims all partitions, because only it can overwrite records that others stored.
func (n *node) newRetention() *kafka.Retention {
	retention := &kafka.Retention{
		Topic: n.topic, Consumer: n.consumer, Partitions: n.shape().Total(), Keep: n.config.LogRetention,
		Owned: func(partition int) bool { _, owned := n.ownership.Owned(partition); return owned || n.broker != nil },
		Every: retentionEvery, Now: n.now, Logger: n.logger,
	}
	if n.broker != nil {
		share := n.config.LogKeep << 20 / int64(n.shape().Total())
		retention.Forget = func(before map[int]int64) error { return n.broker.Forget(ingestTopic, before) }
		retention.Surplus = func(partition int) (int64, error) { return n.broker.Surplus(ingestTopic, partition, share) }
	}
	return retention
}

// storedTime limits how long a read waits for previously accepted items.
const storedTime = 10 * time.Second

// awaitStored returns nil once any node has stored everything that was accepted before the call. It returns
// domain.CodeUnavailable if that takes too long.
func (n *node) awaitStored(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storedTime)
	defer cancel()
	if err := n.consumer.AwaitCommitted(ctx, n.sinks.Hurry); err != nil {
		return fmt.Errorf("%w: %w", domain.Unavailable("The store of what was accepted before", storedTime), err)
	}
	return nil
}

// watchLog returns an error after a failure to sync the embedded log to disk.
func (n *node) watchLog(ctx context.Context) error {
	if n.broker == nil {
		<-ctx.Done()
		return nil
	}
	if err := n.broker.Run(ctx); err != nil {
		return fmt.Errorf("the disk of %s failed, so the server ends; every acknowledged event is in the log. Check the disk, then start the server again: %w", n.dir.Join("log"), err)
	}
	return nil
}

// logReady is the readiness check: it returns the failure of the embedded log, if any.
func (n *node) logReady(context.Context) error {
	if n.broker == nil {
		return nil
	}
	return n.broker.Failure()
}

// openBroker opens the embedded log. A damaged log, which would look empty, is a finding.
func (n *node) openBroker(config broker.Config) (*broker.Broker, error) {
	opened, err := broker.Open(config)
	damage, damaged := errors.AsType[*broker.Damage](err)
	if !damaged {
		return opened, err
	}
	err = n.inspection.Report(integrity.Finding{
		What:  damage.Error(),
		Would: "makes the file again; no record is touched",
		Apply: func() error { return broker.Repair(config, kafka.CreationSettings()) }, First: true,
	})
	if err != nil {
		return nil, err
	}
	return broker.Open(config)
}

// produceTime is how long a request waits for the log before it is answered 503: less than SDKs wait for an answer,
// more than a change of leaders takes.
const produceTime = 4 * time.Second

// gatherShare divides the flush interval: the quotient is how long records of one partition are gathered before they
// are read.
const gatherShare = 10

// gatherMost limits that time, because alerts of the stream wait for it.
const gatherMost = 100 * time.Millisecond

// streamHandler allows the consumer to be created before the stream that it feeds.
type streamHandler struct{ node *node }

func (h streamHandler) Assigned(ctx context.Context, a event.LogAssignment) (map[int]int64, error) {
	starts, err := h.node.stream.Assigned(ctx, a)
	if err == nil {
		h.node.progress.Forget()
	}
	return starts, err
}

func (h streamHandler) Ending(ctx context.Context, generation int32) {
	h.node.stream.Ending(ctx, generation)
}

func (h streamHandler) Records(ctx context.Context, partition int, records []event.LogRecord, highWater int64) error {
	h.node.progress.Read(partition, records)
	return h.node.stream.Records(ctx, partition, records, highWater)
}

func (h streamHandler) Revoked(generation int32) {
	h.node.stream.Revoked(generation)
	h.node.progress.Forget()
}

// openStateLog opens the log of the actors' state.
func (n *node) openStateLog(ctx context.Context, brokers []string, dial kafka.DialFunc) (err error) {
	n.stateLog, err = statelog.Open(statelog.Config{
		Brokers: brokers, Dial: dial, Topic: stateTopic, Partitions: n.config.Partitions, Name: n.nodeAddr(), Logger: n.logger,
	})
	if err != nil {
		return err
	}
	n.owned = owned.New(owned.Config{
		Log: n.stateLog, Partitions: n.config.Partitions, PartitionOf: n.partitionOf, TenantOf: tenantOf, Changed: n.heard, Gap: n.missed, Seal: n.sealEntries, Logger: n.logger,
	})
	return n.stateLog.Ensure(ctx)
}

// followState begins to follow the log of the actors' state.
func (n *node) followState(ctx context.Context) error { return n.owned.Begin(ctx, n.db.StateStore) }

// sealEntries gives pending entries of changes their places in an organization's ledger.
func (n *node) sealEntries(ctx context.Context, org string, left []domain.LeftEntry) error {
	return n.ledgers().Seal(ctx, org, left)
}

// closeState moves the last saved state to the store and closes the log.
func (n *node) closeState() error {
	n.owned.Close()
	n.stateLog.Close()
	return nil
}
