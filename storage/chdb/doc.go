// Package chdb runs the ClickHouse engine of libchdb inside the process, with ClickHouse's HTTP interface on
// connections in memory. A clickhouse-go client that dials with [Engine.DialContext] and the protocol clickhouse.HTTP
// works as with a server. No C compiler is needed, and no port is opened unless [Config] names one.
//
// # Guarantees
//
//   - A statement runs on one engine connection, and a connection runs one statement at a
//     time. The next statement sees no session change of the one before.
//   - A request whose context ends is cancelled inside the engine. Its connection serves the
//     next request only after the engine has released the statement.
//   - A result is passed on block by block. An exception after the first block reaches the
//     client as an exception; a result is never cut short silently.
//   - A batch of clickhouse-go arrives as one Native block and is inserted as one block,
//     as long as it stays below the engine's limits for a block (min_insert_block_size_rows
//     and _bytes: 1,048,449 rows, 256 MiB). A body that ends early inserts nothing.
//   - A process holds one engine on one data folder, because libchdb does.
//
// # Limits
//
// Sessions, roles, passwords, quotas, external tables and compressed bodies are refused or ignored, because the main
// client is the process itself. Package clickhouse manages the tables and their settings.
package chdb
