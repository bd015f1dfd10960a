package kafka

import (
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"

	"svc/domain"
)

var (
	// ErrUnavailable reports that a payload was not acknowledged: the queue of its partition is full, the deadline
	// passed, or the producer stopped. The payload may still reach the log, so repeating the call may append it twice.
	// Callers repeat the request later.
	ErrUnavailable = errors.New("kafka is unavailable")

	// ErrNotAppended is an [ErrUnavailable] after which no payload of the call is or will be in the log.
	ErrNotAppended = fmt.Errorf("%w: nothing was appended", ErrUnavailable)

	// ErrTooLarge reports a payload above the limit of one record. No payload of the call was queued. Repeating the
	// call is pointless.
	ErrTooLarge = errors.New("payload exceeds the record limit")

	// ErrFenced reports a commit of a generation that has ended. Nothing of the call was stored.
	ErrFenced = domain.ErrFenced

	// ErrRebalancing reports that the group currently has no stable assignment.
	ErrRebalancing = errors.New("group is rebalancing")

	// ErrForeign reports a group that has members with another cluster secret.
	ErrForeign = errors.New("the group has members with another cluster secret")

	// ErrAlone reports a group with several nodes, one of which cannot be called.
	ErrAlone = errors.New("a node without SVC_NODE_ADDR cannot share a log with another; set it on all of them, or stop one")

	// ErrPartitions reports a topic with another partition count than the configuration. Keys would map to other
	// partitions, so no node may run.
	ErrPartitions = errors.New("topic has another partition count")
)

// fenced reports whether the coordinator refused a request because the member or its generation is no longer current.
func fenced(err error) bool {
	return errors.Is(err, kafkago.IllegalGeneration) ||
		errors.Is(err, kafkago.UnknownMemberId) ||
		errors.Is(err, kafkago.FencedInstanceID)
}

// coordinatorMoves reports whether a broker refused a request of the group because the cluster is
// still choosing or preparing the coordinator. The broker did nothing.
func coordinatorMoves(err error) bool {
	return errors.Is(err, kafkago.GroupCoordinatorNotAvailable) ||
		errors.Is(err, kafkago.NotCoordinatorForGroup) ||
		errors.Is(err, kafkago.GroupLoadInProgress)
}

// leftOut reports whether the error of a produce request means that the broker appended nothing. After any other
// failure the broker may have appended the record.
func leftOut(err error) bool {
	var code kafkago.Error
	if !errors.As(err, &code) {
		return false
	}
	switch code {
	case kafkago.UnknownTopicOrPartition, kafkago.LeaderNotAvailable, kafkago.NotLeaderForPartition, kafkago.MessageSizeTooLarge,
		kafkago.NotEnoughReplicas, kafkago.TopicAuthorizationFailed, kafkago.InvalidTopic, kafkago.InvalidMessage:
		return true
	default:
		return false
	}
}

// permanent reports whether repeating a produce request cannot succeed.
func permanent(err error) bool {
	var code kafkago.Error
	return errors.As(err, &code) && !code.Temporary()
}
