// Package admission bounds the resources of a node that ingest requests use: memory, processors and the path to the
// log. Each is divided fairly between applications and addresses.
//
// A request holds a [Reservation] of the node's [Control], and takes from it in this order: bytes for its body, bytes
// and a place for its decoding, and bytes that may wait for the log. A sender that slows others is delayed: by
// throttle.go while the store lags, by pace.go while processors are short. fairness.go records the delayed senders.
package admission
