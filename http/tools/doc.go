// Package tools makes the routes of the management API callable by models. Each route is a tool with a name, a
// description and a JSON Schema. A call is a request that the same handler serves with the caller's token, so that
// every gate, mask, limit and audit row applies. The organization and the application come from the conversation, never
// from a model.
package tools
