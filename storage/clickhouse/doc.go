// Package clickhouse keeps events and the state of actors in ClickHouse: a server
// named by a DSN, or the engine inside the process, reached through the same client.
//
// # What holds
//
//   - [DB.Insert] stores a block of events exactly once, in the raw table and in
//     every aggregate, however often it is repeated with the same token; a repetition
//     completes what an interrupted insert left undone.
//   - [DB.Put] and [DB.Append] return nil after the rows are stored. With
//     [Config.Durable] they, and the events, are forced to disk by then.
//   - A window is counted to the millisecond. Unfiltered reads add the whole
//     quarter-hour slots of the aggregates to the raw events of the partial slots at
//     both ends; filtered reads count raw events within svc.Window.Capped.
//   - Every query names an environment or an owner, except those that load a node.
//   - Every value reaches the engine as a bound parameter; identifiers come from the
//     lists in where.go.
//
// # What it does not do
//
// It knows nothing of HTTP, actors or Kafka, masks nothing, and resolves no
// defaults: queries arrive complete.
//
// # Errors
//
// A read that takes too long or too much memory fails with svc.CodeQueryTimeout, a
// store that does not answer with svc.CodeUnavailable. Other errors are wrapped.
package clickhouse
