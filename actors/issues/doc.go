// Package issues implements the actors of issues and of releases. Listener makes resolved issues decide whether the
// occurrences of a block reopen them. It reports new issues and regressions to alert rules. The tests named
// exactlyonce_ simulate nodes that fail and host the actors of issues and of alerting.
//
// # From an error to a regression
//
//  1. Package http/ingest reads the item, completes and cuts it, parses the text of its stack if it has no frames, and
//     groups it by its fingerprint. The result is a protos.Occurrence in the payload of its issue's partition.
//  2. The intake drops duplicates, describes the client, and passes the row to the sink. Occurrences are a second kind
//     of row in the same block, with the same boundaries and the same token. Views maintain the tables issues,
//     issue_users and issue_releases.
//  3. Continuation handles an issue that is new in the block. If the former grouping would have put its errors into a
//     stored issue, the new issue becomes part of that issue, so regressions and alerts refer to the old one
//     (docs/decisions/0039-group-errors-by-fingerprint.md).
//  4. Between the insert of a block and its commit, Listener notifies the actors of the block's issues that are in the
//     ResolvedSet, all at once. Each actor decides and saves before it answers. An occurrence of an open, regressed or
//     ignored issue cannot change its state and is not reported. A list shows the issue as regressed about 30 ms after
//     it shows the occurrence.
//
// # Why no regression is missed or invented
//
//   - Crashes: the offsets are committed after the decisions are durable. Before the commit the whole block comes
//     again, and its ids are not among the recent ones, because the states of the intakes exclude the pending block.
//     So its issues are notified again. A second notification changes nothing: a regressed issue stays regressed.
//   - The set of resolved issues: an issue enters it before its resolution is saved, and leaves it after a save. The
//     sink looks at the set after the insert. An occurrence that follows a resolution passed through the log and the
//     insert in between. Each generation loads the resolved issues of all its partitions before it folds its first
//     record, and drops no issue of these partitions. An issue is dropped by its version: an actor that ends late does
//     not drop an issue that another node has resolved since.
//   - The death of a node: the node that completes its block runs the same listeners, which notify issues on all
//     nodes. The generation of the block is over. So a resolution that precedes its occurrences is stored, or its
//     actor is still on the completing node. The watched issues are the stored ones, read after the insert, and the
//     node's own.
//   - The order of the log decides, not the order of work or the clocks of nodes. A resolution records the end of the
//     log of its issue's occurrences at the time of the request
//     (docs/decisions/0040-judge-regressions-by-the-order-of-the-log.md). An occurrence that was accepted before it
//     never undoes it, however late it is stored. A later decision of a person (ignored, open, resolved again) holds,
//     whichever is handled first.
//
// The tests let nodes die or pause before and after every load, save, call and request to the coordinator, while
// people change issues through any node. They compare every issue with the order of time. A request that was answered
// with 503 may take effect later or never. A resolution that reached the store after its owner had lost the partition
// is not watched before the next generation.
package issues
