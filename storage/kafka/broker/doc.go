// Package broker is a Kafka broker inside the process, for installations without
// a cluster.
//
// A [Broker] belongs to one folder and one process at a time. Its clients are
// those of any Kafka broker, over the network or, in the same process, in memory
// ([Broker.Dial]).
//
// With [Config.Sync] the connections of the broker hold every answer back until what
// it reflects is on disk. The forcer does that in rounds: it copies what was appended
// to any partition of its topics since the last round into a journal and forces that one file. The
// files of the partitions are forced in the background, once for each 32 MiB, and
// the journal is replayed when the broker opens, before it reads them.
//
// The broker deletes whole files. [Broker.Forget] overwrites the values of old records in the files that
// stay, and empties the journal. It notes what it overwrites before, so that a kill leaves no torn batch.
//
// Invariants:
//   - what was acknowledged survives the death of the process;
//   - with [Config.Sync] it survives a loss of power: nothing leaves the broker
//     before the log and the group's state that it reflects are forced to disk;
//   - after the first failure to force, nothing is acknowledged any more;
//   - a folder with records that would be taken for an empty one is refused
//     ([Damage]).
package broker
