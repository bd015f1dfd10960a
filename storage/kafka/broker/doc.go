// Package broker is a Kafka broker inside the process, for installations without a cluster.
//
// A [Broker] belongs to one folder and one process at a time. It serves ordinary Kafka clients over the network, and
// clients in the same process in memory ([Broker.Dial]).
//
// With [Config.Sync] the connections of the broker hold back every answer until the data behind it is on disk. The
// forcer syncs in rounds. In each round it copies the new bytes of all partitions into a journal and syncs that one
// file. It syncs the partition files in the background, once for each 32 MiB. When the broker opens, it replays the
// journal before it reads the partition files.
//
// The broker deletes whole files. [Broker.Forget] overwrites the values of old records in the files that stay, and
// empties the journal. It first writes a note of the batches that it overwrites, so that a kill leaves no torn batch.
//
// Invariants:
//   - acknowledged data survives the death of the process;
//   - with [Config.Sync] it survives a loss of power: nothing leaves the broker
//     before the log and the group's state behind it are synced to disk;
//   - after the first failed sync the broker acknowledges nothing any more;
//   - the broker refuses a folder with records that it would take for an empty
//     one ([Damage]).
package broker
