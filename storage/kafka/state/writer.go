package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// firstPause and lastPause are the pauses between two attempts of one request.
	firstPause, lastPause = 5 * time.Millisecond, 500 * time.Millisecond
	// transactionTime is a required field of a request. The log uses no transactions.
	transactionTime = time.Minute
)

// writer appends batches to one partition, one after another, under one identity. It is not safe for concurrent use.
type writer struct {
	log       *Log
	partition int
	who       identity
}

// append appends records as one batch and returns the offset of the first. It repeats an attempt that appended nothing
// and may succeed later, until ctx ends. doubt means that an attempt may have appended the batch without saying so. For
// free records append repeats such an attempt, under the same number, so that the broker appends them once. For an
// owner's records the caller resolves the doubt by reading the log.
func (w *writer) append(ctx context.Context, what kind, reign Reign, records []Record) (offset int64, doubt bool, err error) {
	batch := encode(what, reign, records, time.Now())
	stamp(batch, w.who)
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		offset, err = w.log.sender.send(ctx, w.partition, batch)
		if err == nil {
			w.who.sequence += int32(len(records))
			return offset, false, nil
		}
		doubt = doubt || !leftOut(err)
		if errors.Is(err, kerr.MessageTooLarge) && !doubt {
			return 0, false, fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
		if ctx.Err() != nil || !passing(err) || doubt && what != free {
			return 0, doubt, err
		}
		w.log.cfg.Logger.Debug("appending state", "partition", w.partition, "error", err)
		pause(ctx, wait)
	}
}

// lastSequence is the sequence number after which a writer takes a new identity. Brokers differ in the number that
// follows the largest one.
const lastSequence = 1<<31 - 1 - 1<<20

// spent reports whether the writer needs a new identity.
func (w *writer) spent() bool { return w.who.sequence > lastSequence }

// passing reports whether the same request may succeed later.
func passing(err error) bool {
	code, answered := errors.AsType[*kerr.Error](err)
	return !answered || code.Retriable
}

// leftOut reports whether an error means that nothing was appended.
func leftOut(err error) bool {
	code, answered := errors.AsType[*kerr.Error](err)
	if !answered {
		return false
	}
	switch code.Code {
	case kerr.UnknownTopicOrPartition.Code, kerr.LeaderNotAvailable.Code, kerr.NotLeaderForPartition.Code, kerr.MessageTooLarge.Code,
		kerr.NotEnoughReplicas.Code, kerr.TopicAuthorizationFailed.Code, kerr.InvalidTopicException.Code, kerr.InvalidRecord.Code,
		kerr.CorruptMessage.Code:
		return true
	default:
		return fenced(err) || misnumbered(err)
	}
}

// fenced reports whether a broker refused a producer because a newer one has replaced it.
func fenced(err error) bool {
	return errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.ProducerFenced)
}

// misnumbered reports whether a broker refused a batch because it does not know the producer, or knows other batches of
// it. Such a broker lost part of its log or of its producer state.
func misnumbered(err error) bool {
	return errors.Is(err, kerr.OutOfOrderSequenceNumber) || errors.Is(err, kerr.UnknownProducerID) || errors.Is(err, kerr.InvalidProducerIDMapping)
}

// raise makes the epoch of a partition's producer higher than any before. If known is set, it raises the epoch only if
// known is still the newest identity. Brokers that have seen the new epoch refuse requests with a lower one.
func (l *Log) raise(ctx context.Context, partition int, known *identity) (identity, error) {
	name := l.producerName(partition)
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionalID, request.TransactionTimeoutMillis = &name, int32(transactionTime/time.Millisecond)
	request.ProducerID, request.ProducerEpoch = -1, -1
	if known != nil {
		request.ProducerID, request.ProducerEpoch = known.id, known.epoch
	}
	who, err := l.identify(ctx, request)
	if known != nil && errors.Is(err, kerr.InvalidProducerIDMapping) { // the brokers forgot the producer
		return l.raise(ctx, partition, nil)
	}
	return who, err
}

// identify requests an identity. It retries after broker errors until ctx ends.
func (l *Log) identify(ctx context.Context, request *kmsg.InitProducerIDRequest) (who identity, err error) {
	err = patiently(ctx, func() error {
		answer, err := l.client.Request(ctx, request)
		if err == nil {
			given := answer.(*kmsg.InitProducerIDResponse)
			who, err = identity{id: given.ProducerID, epoch: given.ProducerEpoch}, kerr.ErrorForCode(given.ErrorCode)
		}
		if err != nil {
			return fmt.Errorf("asking for a producer id: %w", err)
		}
		return nil
	})
	return who, err
}
