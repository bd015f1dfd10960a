// Package clickhouse connects to ClickHouse: a server named by a DSN, or the engine inside the
// process, reached through the same client. The packages below it store and read one noun each
// over its connection:
//
//   - block: the rows of events, errors and metric points, stored exactly once
//   - state: what actors own, ledgers, audit rows
//   - reads: analytics of events, and what is kept of past days
//   - issues: issues, their occurrences, source maps
//   - metrics: the series of metrics
//   - alerts: what alerting reads, monitors and their checks
//   - backup: snapshots
//   - columns: the wire form of rows
//   - database: all of them, opened over one connection
//
// # What holds
//
//   - A read answers from whole blocks: it finds all rows of a block of this process, in all
//     tables, or none ([Whole], [Besides]).
//   - A read of a table whose rows come through the journal flushes the journal first, or fails
//     on a connection that cannot ([Conn.Flushing]).
//   - Questions take [QuestionPlaces] of [MaxConnections] places, so that writes go on beside
//     any number of slow reads.
//   - Every query names an environment or an owner, except those that load a node.
//   - Every value reaches the engine as a bound parameter. Statements are in files of their own,
//     query/noun.Verb.sql of the package that runs them.
//
// # What it does not do
//
// It knows nothing of HTTP, actors or Kafka, masks nothing, and resolves no defaults: queries
// arrive complete.
//
// # Errors
//
// A read that takes too long or too much memory fails with svc.CodeQueryTimeout, a store that
// does not answer with svc.CodeUnavailable. Other errors are wrapped.
package clickhouse
