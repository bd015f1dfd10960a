// Package chdb runs the ClickHouse engine of libchdb inside the process, with
// ClickHouse's HTTP interface on connections that exist only in memory. A clickhouse-go
// client that dials with [Engine.DialContext] and the protocol clickhouse.HTTP works as
// with a server: no port is opened and no C compiler is needed.
//
// # What holds
//
//   - A statement runs on one engine connection, a connection runs one statement at a
//     time, and nothing a statement sets in its session is seen by the next one.
//   - A request whose context ends is cancelled inside the engine, and its connection
//     serves the next request only after the engine let go of the statement.
//   - A result is passed on block by block. An exception after the first block reaches
//     the client as an exception; a result is never cut short silently.
//   - A batch of clickhouse-go arrives as one Native block and is inserted as one block,
//     as long as it stays below the engine's limits for a block (min_insert_block_size_rows
//     and _bytes: 1,048,449 rows, 256 MiB). A body that ends early inserts nothing.
//   - A process holds one engine on one data folder, because libchdb does.
//
// # What it does not do
//
// Sessions, roles, passwords, quotas, external tables and compressed bodies are refused
// or ignored: the only client is the process itself. Tables and their settings are the
// business of package clickhouse.
package chdb
