// Package pipeline stores the records of the log, each exactly once.
//
// The consumer of the log notifies Stream of the partitions that this node owns. Stream passes their records, in
// order, to the intakes of the partitions, which drop duplicates, find sessions and make rows. Sink gathers the rows
// of all partitions into blocks and stores each block exactly once; recovery.go completes the blocks that a crash
// interrupted.
//
// The package knows no module of the product. A module follows the stored blocks with a Listener, which the sink and
// the recovery run between the insert of a block and the commit of its offsets. If a listener cannot notify an actor
// in time, it leaves a note in the Outbox, which is durable.
//
// # How successors agree on a block
//
// A block spans the partitions of its node. After the death of the node these may go to several successors, which
// agree without communication (docs/decisions/0003-store-blocks-exactly-once.md):
//
//   - Each successor reads the text at any of the block's partitions, which names all of them, and the positions of
//     all. pendingBlock.decide gives each successor the same verdict, now or later in the generation. Stored is final,
//     because no position goes back, except over a log that lost its end. Not begun lasts as long as a text of the
//     block exists, because only the block's own generation writes texts. Undecided ends by becoming stored.
//   - Each successor commits only its own partitions. A commit names generation and member, and the coordinator
//     refuses commits of an ended generation. So only successors change the positions that a successor reads at the
//     start of its generation.
//   - Undecided: the owner of the first partition makes the whole block again from the log, with the states of all its
//     partitions without the block's rows, and inserts it under its token. The others wait until its positions show
//     that.
//   - Not begun: no successor passes the block before all its texts are removed. Otherwise a position past the block
//     would make it look stored, and its records would be lost.
//   - Several blocks of a dead node are disjoint, because a node has one block under way. Block numbers contain
//     milliseconds and 22 random bits, so no two blocks have the same.
//   - A node that was paused may send its insert after a successor repeated it. The token prevents a second copy as
//     long as it is in the deduplication window of the table. A later insert would need a request that was half sent
//     when its node stopped; the store drops such requests after half a minute.
//   - A successor that is too slow to complete a block within one generation continues in the next (completion.go).
//     While the block is undecided no node passes it, so neither its records nor the states of its partitions change.
//   - A generation that ends in order ends with an empty block (Stream.Ending). The intakes of partitions that stay
//     then continue with their state if the last record that they folded is the last committed one. Otherwise they
//     read it back: a record in a mailbox may be folded after the last block was taken, and the state would treat it
//     as a duplicate.
package pipeline
