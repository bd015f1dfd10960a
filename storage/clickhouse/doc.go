// Package clickhouse connects to ClickHouse, which is a server named by a DSN, or the engine inside the process,
// reached through the same client. Each package below it stores and reads one kind of data over its connection:
//
//   - block: the rows of events, errors and metric points, stored exactly once
//   - state: the state of actors, ledgers, audit rows
//   - reads: analytics of events, and the caches of past days
//   - issues: issues, their occurrences, source maps
//   - metrics: the series of metrics
//   - alerts: the data for alerting, monitors and their checks
//   - people, revenue, flags, telemetry: people, ledgers of revenue, evaluations of flags, the fates of items
//   - campaigns, destinations, exports: recipients, deliveries, the rows of exports
//   - moves: copies of environments between shards
//   - backup: snapshots
//   - columns: the wire format of rows
//   - database: all of them, opened over one connection
//
// # Guarantees
//
//   - A read sees whole blocks: it finds all rows of a block of this process, in all
//     tables, or none ([Whole], [Besides]).
//   - A read of a table that the journal fills flushes the journal first, or fails
//     on a connection that cannot ([Conn.Flushing]).
//   - Calls of Read take [QuestionPlaces] of [MaxConnections], so that writes continue
//     during any number of slow reads.
//   - Every query names an environment or an owner, except the queries that load a node.
//   - Every value reaches the engine as a bound parameter. Statements are in separate files,
//     query/noun.Verb.sql of the package that runs them.
//
// # Limits
//
// The package knows nothing of HTTP, actors or Kafka, masks nothing, and resolves no defaults: queries arrive complete.
//
// # Errors
//
// A read that takes too long or too much memory fails with domain.CodeQueryTimeout. If the store does not answer, the
// error is domain.CodeUnavailable. Other errors are wrapped.
package clickhouse
