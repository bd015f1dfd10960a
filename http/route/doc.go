// Package route holds the type of a row of the route table, and the Handler that
// serves a table. A row names its path, what a caller needs to use it, what it
// does, and a typed function. From the rows follow registration, the gates, the
// OpenAPI document, the tools of models, and the tests of every row.
//
// A request of the surfaces manage and console passes the gates in a fixed order,
// is read into a typed input, and is answered with the typed output or with a
// problem. Rows of the surfaces collect, share and agents have raw handlers, which
// pass no gate: a raw request gets a request id, metrics, and recovery from panics.
//
// The rows stand beside their handlers in http/api, http/ingest, http/share,
// http/mcp, http/console and http/docsite. This package knows no noun of the
// product except the application, whose modules a gate asks for.
package route
