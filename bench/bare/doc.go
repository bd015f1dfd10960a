// Package bare contains the smallest programs that do one part of the service's work: an HTTP handler without and with
// decoding, a writer and a relay of streams, blocks produced to the same kind of embedded broker, and rows appended to
// columns. Their figures show the capacity of this machine; the service is compared with them in the same run.
//
// A bare program runs in a child of the benchmark, which is the benchmark's own binary: main calls Main before anything
// else.
package bare
