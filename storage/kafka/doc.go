// Package kafka carries ingested events through a Kafka topic.
//
// A [Producer] gathers payloads into one record per partition. It sends each broker one request with the records of all
// partitions that the broker leads, and acknowledges them once every in-sync replica has them. A [Consumer] owns a
// share of the partitions through a consumer group, delivers their records in order, and stores an offset with a short
// text per partition. Both speak the Kafka protocol, so a cluster and the broker inside the process (package broker)
// are interchangeable. A [Retention] deletes consumed records.
//
// Invariants:
//   - a nil error from Produce means that the payload is in the log;
//   - a payload is never split, and payloads of one caller for one partition
//     retain their order;
//   - a payload is in the log once, however often the producer had to send it;
//     only a caller that repeats a call which failed with [ErrUnavailable] may
//     append it again;
//   - delivery is at least once: after a generation ended, records come again
//     from the committed position on;
//   - a commit of an ended generation is refused.
//
// The package does not look into payloads and knows no product term.
package kafka
