// Package owned keeps what actors own: a save goes to the log of state, and the tables of the
// store follow.
//
// A save is one batch of the log (package storage/kafka/state), which only the owner of the
// partition can append. It counts once the log has acknowledged it; the store may be away.
// Every node follows all partitions and keeps the tail: what may not be in the tables yet, the
// last version of each thing. Owners move the tail to the tables every second. A load merges
// table and tail. A list moves to the tables whatever was saved before it, and then reads them;
// any node may do that at any time, because the tables keep the highest version of a thing.
//
// Invariants:
//   - the tail has everything that counts in the log before the follower's position and is not
//     in the tables for certain;
//   - a load of an owner's actor knows the log up to the last save of this process, and up to
//     the barrier with which it took the partition;
//   - the log holds the whole state: what is trimmed from it was copied to its end before, and had its
//     place in the tables.
package owned
