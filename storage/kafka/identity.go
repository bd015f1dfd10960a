package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/initproducerid"
)

// lastSequence is the sequence number after which a partition takes a new identity. Brokers differ in the number that
// follows math.MaxInt32.
const lastSequence = math.MaxInt32 - 1

// identity is a producer id and epoch from the cluster. Under it the records of a partition have sequence numbers, and
// the broker recognises a record that is sent again: it acknowledges the record without appending it a second time.
//
// Only an acknowledged record uses up its number. After a record that may or may not be in the log, no number is right.
// With the same number the broker could take the next record for this one, and the next number could leave a gap. The
// partition then takes a new identity; other partitions retain theirs.
type identity struct {
	id    int64
	epoch int16
}

// identify returns an identity that is newer than after, or any identity if after is nil. If it knows none, it asks the
// broker at the other end of c. Each identity becomes the newest exactly once, so that no partition gets one twice.
// Otherwise its sequence numbers would restart, and the broker would take new records for old ones.
func (p *Producer) identify(ctx context.Context, after *identity, c *conn) (*identity, error) {
	p.mu.Lock()
	known := p.identity
	p.mu.Unlock()
	if known != after {
		return known, nil
	}
	answer, err := c.exchange(ctx, time.Now().Add(dialTime), &initproducerid.Request{
		TransactionTimeoutMs: math.MaxInt32, ProducerID: -1, ProducerEpoch: -1,
	})
	if err != nil {
		return nil, fmt.Errorf("asking for a producer id: %w", err)
	}
	given := answer.(*initproducerid.Response)
	if given.ErrorCode != 0 {
		return nil, fmt.Errorf("asking for a producer id: %w", kafkago.Error(given.ErrorCode))
	}
	fresh := &identity{given.ProducerID, given.ProducerEpoch}
	p.mu.Lock()
	p.identity = fresh
	p.mu.Unlock()
	return fresh, nil
}

// stamp writes the identity and the next sequence number of the partition into the block to send. A repeated attempt
// writes the same values.
func (p *partition) stamp(ctx context.Context, c *conn) error {
	if p.identity == nil || p.spent {
		fresh, err := p.producer.identify(ctx, p.identity, c)
		if err != nil {
			return err
		}
		p.identity, p.spent, p.sequence = fresh, false, 0
	}
	p.sending.stamp(*p.identity, p.sequence)
	return nil
}

// count uses up the number of the sent block, or the identity if the block may or may not be in the log.
func (p *partition) count(err error) {
	switch {
	case err != nil:
		p.spent = p.spent || p.sending.unsure
	case p.sequence == lastSequence:
		p.spent = true
	default:
		p.sequence++
	}
}

// misnumbered reports whether a broker refused a record because of its identity or sequence number. The broker appended
// nothing. It does not know the producer, or knows other records of it, because it lost part of its log or of its
// producer state.
func misnumbered(err error) bool {
	return errors.Is(err, kafkago.OutOfOrderSequenceNumber) || errors.Is(err, kafkago.UnknownProducerId) ||
		errors.Is(err, kafkago.InvalidProducerEpoch) || errors.Is(err, kafkago.InvalidProducerIDMapping)
}
