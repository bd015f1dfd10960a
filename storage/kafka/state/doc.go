// Package state is a log of records that have one writer at a time.
//
// The log is a Kafka topic. [Log.Take] makes this process the [Owner] of a partition. It raises the epoch of the
// partition's producer, so that the broker refuses later requests of the previous owner, and appends a barrier.
// [Owner.Save] appends records in one batch: either all of them count or none.
//
// Brokers forget producers that were idle for long, so the readers decide. Every record carries the reign of its
// writer, a random number that the barrier announced. A record counts if its reign equals that of the last barrier
// before it; otherwise it is void. All readers see the same records in the same order, so they agree. A free record
// ([Log.Append]) has no owner and always counts.
//
// A [Follower] reads all partitions and reports how far it has read the log.
//
// Invariants:
//   - a save that returned nil counts for every reader;
//   - a save that failed does not count and never will, unless the error is [ErrUnknown];
//   - a save or a free record that had to be sent again is in the log once;
//   - trimmed records were written again after the barrier of a checkpoint ([Owner.Checkpoint]),
//     so the remaining records hold the whole state.
//
// On Apache Kafka the topic is also compacted. Compaction knows keys but not reigns. It would drop a record that counts
// in favour of a later void record with the same key. So compaction stays one day behind the end of the log, and the
// owner gets the keys of void records and saves their current values again.
package state
