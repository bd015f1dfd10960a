// Package destinations forwards conversions: events that the mapping of a destination names go to an
// advertising platform, a webhook or a chat, each at least once and under one id.
//
// The book owns the destinations of an application, and every node has them in its index. Between the insert
// and the commit of a block, the listener hands the conversions of the block to the queues of the
// destinations; what a queue does not take in time goes through the outbox. A queue stores what it takes
// before it answers, and knows a repeated block, so a conversion is begun once per destination. The dispatcher
// sends what is in the queue, on goroutines beside its mailbox, writes the outcome to the delivery log, and
// only then has the queue forget it: a crash in between repeats the conversion under the same id.
package destinations
