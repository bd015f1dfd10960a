// Package pipeline carries records of the log into the store, each exactly once.
//
// Stream learns from the log's consumer which partitions this node owns. It hands their
// records, in order, to the partitions' intakes, which drop duplicates, find sessions and make
// rows. Sink gathers the rows of all partitions into blocks and stores each block exactly once;
// recovery.go completes the blocks that a crash interrupted.
//
// The package knows no module of the product. A module learns what is stored by a Listener,
// which the sink and the recovery run between the insert of a block and the commit of its
// offsets. What a listener could not tell an actor in time goes to the Outbox, which is durable.
package pipeline
