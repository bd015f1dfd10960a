// Package pipeline stores the records of the log, each exactly once.
//
// The consumer of the log notifies Stream of the partitions that this node owns. Stream passes their records, in order,
// to the intakes of the partitions, which drop duplicates, find sessions and make rows. Sink gathers the rows of all
// partitions into blocks and stores each block exactly once; recovery.go completes the blocks that a crash interrupted.
//
// The package knows no module of the product. A module follows the stored blocks with a Listener, which the sink and
// the recovery run between the insert of a block and the commit of its offsets. If a listener cannot notify an actor in
// time, it leaves a note in the Outbox, which is durable.
package pipeline
