// Package conversations holds what the assistant's turns are written down in: conversations and
// the list of them that each member has, the requests that wait for a second operator, an
// organization's rules and budget for models, and its ledger. The turns themselves are run by
// package assistant.
package conversations
