// Package bare holds the least programs that do one part of the service's work:
// an HTTP handler without and with decoding, a writer and a relay of streams, blocks
// produced to the embedded kind of broker, and rows appended to columns. Their figures are what this
// machine can do; the service is measured against them in the same run.
//
// A bare program runs in a child of the benchmark, which is the benchmark's own
// binary: main calls Main before anything else.
package bare
