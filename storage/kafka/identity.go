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

// lastSequence is where a partition takes another identity. Brokers differ in what
// follows the largest number.
const lastSequence = math.MaxInt32 - 1

// identity is what a cluster calls a producer. With it, every record of a partition
// has a sequence number, and a record that is sent again is recognised: it is
// acknowledged and not appended a second time.
//
// A number is used up by a record that was acknowledged. After a record of which
// nobody knows whether it was appended, no number would be right, and the
// partition takes another identity. Others may go on with the one they have.
type identity struct {
	id    int64
	epoch int16
}

// identify returns an identity that is newer than after, nil for any. It asks the
// broker at the other end of c where none is known. Each one becomes the newest once,
// so that no partition gets one that it had before: its numbers would begin
// again, and new records be taken for old ones.
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

// stamp writes the identity and the next number of the partition into the block to
// send. An attempt that repeats another writes the same.
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

// count notes what became of the number of the block that was sent.
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

// misnumbered reports whether a broker refused a record for its number, which says
// that it appended nothing and does not know this producer, or knows other records
// of it: its log or its memory of producers was lost.
func misnumbered(err error) bool {
	return errors.Is(err, kafkago.OutOfOrderSequenceNumber) || errors.Is(err, kafkago.UnknownProducerId) ||
		errors.Is(err, kafkago.InvalidProducerEpoch) || errors.Is(err, kafkago.InvalidProducerIDMapping)
}
