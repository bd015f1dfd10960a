// Package owned stores the state of actors. A save goes to the log of state, and the tables of the store follow.
//
// A save is one batch of the log (package storage/kafka/state), which only the owner of the partition can append. It
// counts once the log has acknowledged it; the store may be unavailable. Every node follows all partitions and holds
// the tail: the last version of each thing that may not be in the tables yet. Owners move the tail to the tables every
// second. A load merges table and tail. A list first moves all earlier saves to the tables and then reads the tables.
// Any node may do that at any time, because the tables retain the highest version of a thing.
//
// Invariants:
//   - the tail has everything that counts in the log before the follower's position, except
//     records that are certainly in the tables;
//   - a load of an owner's actor knows the log up to the last save of this process, and up to
//     the barrier with which the process took the partition;
//   - the log holds the whole state: before records are trimmed, their content is in the tables
//     and was copied to the end of the log.
package owned
