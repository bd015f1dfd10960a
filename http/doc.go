// Package http is the plumbing between the wire and the route table: one
// Handler registers the rows of a table, leads each request through the gates
// in a fixed order, reads it into a typed input, and writes the typed output or
// the problem.
//
// The table itself and its handlers are in http/api. Nothing here knows a noun
// of the product beyond the application, whose modules a gate asks for. Rows of
// the surfaces collect and share bring raw handlers, which meet none of the
// gates: they get a request id, a recovery from panics, and metrics.
package http
