// Package admission bounds what ingest requests take of a node: memory, processors and the way to the
// log, each divided fairly between applications and addresses.
//
// A request holds a [Reservation] of the node's [Control], and takes from it in this order: bytes for its
// body, bytes and a place for its decoding, and bytes of what may wait for the log. A sender
// that costs others is delayed: while the store lags by throttle.go, while processors are short by
// pace.go. fairness.go notes who was.
package admission
