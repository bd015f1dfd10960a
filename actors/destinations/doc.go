// Package destinations forwards conversions: events that the mapping of a destination names go to an advertising
// platform, a webhook or a chat, each at least once and under one id.
//
// The book owns the destinations of an application, and every node has them in its index. Between the insert and the
// commit of a block, the listener passes the conversions of the block to the queues of the destinations. Conversions
// that a queue does not take in time go through the outbox. A queue stores the conversions before it answers, and
// recognizes a repeated block, so a conversion is begun once per destination. The dispatcher sends the conversions of
// the queue, on goroutines outside its mailbox. It writes the outcome to the delivery log, and only then removes the
// conversion from the queue: a crash in between repeats the conversion under the same id.
package destinations
