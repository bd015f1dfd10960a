// Package http is the index of all packages that use HTTP; it contains no code.
//
// Requests come in through these packages:
//
//   - http/route serves a table of routes: gates, inputs, answers, problems.
//   - http/api/* have the management and console routes, one package per module.
//   - http/ingest has the routes to which applications send.
//   - http/share, http/docsite and http/console serve pages for browsers, http/script their script.
//   - http/mcp serves agents, with the tools that http/tools makes of the table.
//   - http/admin serves the operator, on its own listener.
//
// http/outbound calls other servers: notifications, checks, models. The other packages are formats that these share.
package http
