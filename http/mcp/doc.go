// Package mcp serves the Model Context Protocol at /mcp: the routes of the management API as tools for holders of an
// access token, and the documentation as resources. It serves both eras of the protocol at one address, the handshake
// of 2025-11-25 and earlier and the stateless requests of 2026-07-28, and stores no sessions.
//
// A message is admitted by its origin and its access token (admit.go), counts as a request, and is read by the SDK of
// the protocol. A list covers the places that the token reaches now: its organizations, their rules for models, and
// the modules of their applications (reach.go). A call names its place in the input and is judged by its tier. Reads
// and writes go through the router with the caller's own token (package http/tools). Other calls become a proposed
// action in a conversation of their own (actors/assistant/propose.go). Answers have the envelope of the assistant's
// results, as text and as an object.
//
// Invariants:
//
//   - A tool is a request that the service's own handler answers with the caller's token, so every gate, mask, limit
//     and audit row applies.
//   - A call is executed if its tier is read or write. A destructive or external one is proposed to the token's owner,
//     never executed.
//   - A list names only tools that the token could call with success somewhere. Tools that the
//     organization denies to its assistant are denied here too.
//   - A shared cache must not store any answer.
package mcp
