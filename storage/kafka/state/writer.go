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
	// transactionTime is a required field of a request. There are no transactions.
	transactionTime = time.Minute
)

// writer appends batches to one partition, one after another, under one identity. It is not for
// concurrent use.
type writer struct {
	log       *Log
	partition int
	who       identity
}

// attempts is how a batch was sent.
type attempts struct {
	// again reports that it was sent more than once.
	again bool
	// doubt reports that an attempt may have appended it and did not say so.
	doubt bool
}

// append appends records as one batch and returns the offset of the first. It repeats an attempt
// that may succeed later under the same number, so that the broker appends the batch
// once. It gives up when ctx ends or the broker refuses the batch for good.
func (w *writer) append(ctx context.Context, what kind, reign Reign, records []Record) (offset int64, how attempts, err error) {
	batch := encode(what, reign, records, time.Now())
	stamp(batch, w.who)
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		offset, err = w.log.sender.send(ctx, w.partition, batch)
		if err == nil {
			w.who.sequence += int32(len(records))
			return offset, how, nil
		}
		how.doubt = how.doubt || !leftOut(err)
		if ctx.Err() != nil || !passing(err) {
			return 0, how, err
		}
		w.log.cfg.Logger.Debug("appending state", "partition", w.partition, "error", err)
		pause(ctx, wait)
		how.again = true
	}
}

// lastSequence is where a writer takes another identity: brokers differ in what follows the
// largest number.
const lastSequence = 1<<31 - 1 - 1<<20

// spent reports that the writer needs another identity.
func (w *writer) spent() bool { return w.who.sequence > lastSequence }

// passing reports whether the same request may succeed later.
func passing(err error) bool {
	code, answered := errors.AsType[*kerr.Error](err)
	return !answered || code.Retriable
}

// leftOut reports an answer that means that nothing was appended.
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
		return false
	}
}

// fenced reports whether a broker refused a producer because a newer one has its place.
func fenced(err error) bool {
	return errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.ProducerFenced)
}

// raise makes the epoch of a partition's producer higher than any before. A known
// identity is raised only if it is still the newest. Brokers that have seen the new epoch refuse
// what comes under a lower one.
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

// identify asks for an identity. Trouble with the brokers is waited out until ctx ends.
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
