// Package actors lists the kinds of virtual actors of the product; the packages below it have them:
// identity, apps, conversations, alerting (with monitors), issues (with releases), destinations, connector, live and telemetry; pipeline
// folds the log into the store.
//
// A persistent kind has a pure core: state, and one function per message that returns an
// outcome. The shell in package grain loads the state when it is first asked, saves what an
// outcome writes before it answers, and performs the rest. Alerting and monitor actors embed it
// in shells of their own, which send notices, measure and check beside the mailbox; live actors
// and intakes have a shell without a store.
//
// Who may ask whom (calls go down in rank only):
//
//	rank 3  token         one access token: standing and rate limit
//	rank 3  replay        one idempotency key: the answer that was given
//	rank 3  conversation  one exchange with the assistant: messages, actions, its turn
//	rank 2  ledger        one organization's ledger: the entry that the next one follows
//	rank 2  desk          one member's inbox: the conversations about one application
//	rank 2  approvals     one organization: requests to the outside that wait for a second operator
//	rank 2  releases      one organization: the releases that build tools announce
//	rank 2  ai            one organization's rules and budget for the assistant
//	rank 2  user          one person: memberships, personal tokens
//	rank 2  organization  one organization: members, application slugs, its tokens
//	rank 2  segments      one application: who shall be in its segments
//	rank 2  destination   one destination: deliveries that are not over
//	rank 2  campaign      one campaign: its texts, and how far its sending is
//	rank 2  monitor       one monitor: what is checked, and what the checks led to
//	rank 1  alerting      one application: alert rules, incidents, channels, notices
//	rank 1  campaigns     one application: what is decided about its campaigns
//	rank 1  campaignTally one campaign: where its links lead, who opened and clicked
//	rank 1  suppressions  a sixteenth of the addresses to which one application sends no campaign
//	rank 1  destinations  one application: where conversions are forwarded
//	rank 1  connector     one application: the handler of its tenant, which is probed
//	rank 1  telemetry     one environment: what it takes in, its budgets
//	rank 1  application   one application: settings, ingest keys, public page
//	rank 1  issue         one issue: status, assignee, merges
//	rank 1  live          one environment: who is there now
//	rank 1  intake        one partition of the log: duplicates, sessions, rows
//
// A monitor calls the alerting actor of its application, and a conversation the ledger of its
// organization, in a context with its rank, so that the cluster refuses a call that does not go
// down. The shell of an alerting actor calls its own actor, on goroutines beside the mailbox and
// therefore without a rank; the mailbox never waits for these calls. No other actor calls
// another: where a request needs two (a token's standing and its owner's membership), the client
// asks one after the other.
package actors
