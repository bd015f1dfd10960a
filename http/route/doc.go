// Package route defines the type of a row of the route table, and the Handler that serves a table. A row declares its
// path, the access that a caller needs, its effect, and a typed function. Registration, the gates, the OpenAPI
// document, the tools of models, and the tests of every row are derived from the rows.
//
// A request of the surfaces manage and console passes the gates in a fixed order, is read into a typed input, and is
// answered with the typed output or with a problem. Rows of the surfaces collect, share and agents have raw handlers,
// which pass no gate: a raw request gets a request id, metrics, and recovery from panics.
//
// The rows are defined next to their handlers in http/api, http/ingest, http/share, http/mcp, http/console and
// http/docsite. This package knows only one noun of the product: the application, because a gate checks its modules.
package route
