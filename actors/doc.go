// Package actors holds the virtual actors of the product, one file per kind,
// and the clients through which http and storage reach them.
//
// A kind has a pure core (state, and one function per message that returns an
// outcome) and shares one shell (grain.go) that loads the state when it is first
// asked, saves what an outcome writes before it answers, and performs the rest.
//
// Who may ask whom (calls go down in rank only):
//
//	rank 3  token         one access token: standing and rate limit
//	rank 3  replay        one idempotency key: the answer that was given
//	rank 3  conversation  one exchange with the assistant: messages, actions, its turn
//	rank 2  ledger        one organization's ledger: the entry that the next one follows
//	rank 2  desk          one member's conversations about one application
//	rank 2  approvals     one organization: requests to the outside that wait for a second operator
//	rank 2  releases      one organization: the releases that build tools announce
//	rank 2  ai            one organization's rules and budget for the assistant
//	rank 2  user          one person: memberships, personal tokens
//	rank 2  organization  one organization: members, application slugs, its tokens
//	rank 2  monitor       one monitor: what is checked, and what the checks led to
//	rank 1  alerting      one application: alert rules, incidents, channels, notices
//	rank 1  application   one application: settings, ingest keys, public page
//	rank 1  issue         one issue: status, assignee, merges
//	rank 1  live          one environment: who is there now
//	rank 1  intake        one partition of the log: duplicates, sessions, rows
//
// A monitor tells the alerting actor of its application, and a conversation the ledger of its
// organization, in a context with its rank, so that
// the cluster would refuse a call that does not go down. No other actor calls another: where
// a request needs two (a token's standing and its owner's membership), the client asks one
// after the other.
package actors
