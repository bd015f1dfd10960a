// Package destinations forwards conversions: events that the mapping of a destination names go to an advertising
// platform, a webhook or a chat, each at least once and under one id
// (docs/decisions/0052-forward-conversions-at-least-once.md).
//
//  1. The book owns the destinations of an application, and every node has them in its index. The listener of the open
//     block looks in the index whether an event is forwarded, and makes its conversion.
//  2. Between the insert and the commit of a block, the listener passes the conversions to the queues of the
//     destinations, in parts. Conversions that a queue does not take within a second go through the outbox.
//  3. A queue stores the conversions before it answers. It knows the parts of blocks of the last half hour and
//     recognizes a repeated block, so a conversion is begun once per destination.
//  4. The dispatcher is the shell of the queue. It makes the attempts on goroutines outside its mailbox, as many at a
//     time as the destination takes, through a circuit breaker. It looks up persons in queries that gather for 50 ms,
//     leaves out erased persons, and sends through package http/outbound/forward.
//  5. It writes the outcomes to the delivery log, together with outcomes of other destinations, and only then removes
//     or postpones the deliveries in the queue. A crash in between repeats a conversion under the same id. A parked
//     delivery leaves the queue; a replay reads it from the log.
package destinations
