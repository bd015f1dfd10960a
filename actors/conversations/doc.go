// Package conversations stores the state of the assistant: conversations and each member's list of them, the requests
// that wait for a second operator, an organization's rules and budget for models, and its ledger. Package assistant
// runs the turns themselves.
package conversations
