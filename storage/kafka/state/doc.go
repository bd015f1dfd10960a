// Package state is a log of records that have one writer at a time.
//
// It is a Kafka topic. [Log.Take] makes this process the [Owner] of a partition: it raises the
// epoch of the partition's producer, so that the broker refuses what the owner before sends from
// then on, and appends a barrier. [Owner.Save] appends records in one batch: all count, or none.
//
// Brokers forget producers that were idle for long, so readers have the last word. Every record
// carries the reign of its writer, a random number that the barrier announced. A record counts
// if its reign is that of the last barrier before it; otherwise it is void. All readers see the
// same records in the same order, so they agree. A free record ([Log.Append]) has no owner and
// always counts.
//
// A [Follower] reads all partitions, and tells how far it knows the log.
//
// Invariants:
//   - a save that returned nil counts for every reader;
//   - a save that failed does not count and never will, unless the error is [ErrUnknown];
//   - a save or a free record that had to be sent again is in the log once;
//   - what is trimmed was written again after the barrier of a checkpoint ([Owner.Checkpoint]),
//     so the records that the log still has hold the whole state.
//
// On Apache Kafka the topic is also compacted. Compaction knows keys and not reigns: it would
// drop a record that counts in favour of a void one of the same key that came later. So it keeps
// its distance of a day from the end of the log, and the owner is given the keys of void
// records, of which it saves the present values again.
package state
