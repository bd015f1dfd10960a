// Package actors documents the kinds of virtual actors of the product. The packages below it implement them; package
// pipeline folds the log into the store.
//
// A persistent kind has a pure core: state, and one function per message that returns an outcome. The shell in package
// grain loads the state before the first message, saves the writes of an outcome before it answers, and then performs
// its effects. The actors alerting, monitor, destination, campaign and billing wrap that shell: they send notices,
// check, deliver and read on goroutines outside the mailbox, as connector does with its probes. Live actors and intakes
// use a shell without a store.
//
// The kinds and their ranks:
//
//	rank 3  token         one access token: standing and rate limit
//	rank 3  replay        one idempotency key: the answer to its first request
//	rank 3  conversation  one conversation with the assistant: messages, actions, its turn
//	rank 2  ledger        one organization's ledger: the last entry, which the next one follows
//	rank 2  desk          one member's inbox: the conversations about one application
//	rank 2  approvals     one organization: requests to the outside that wait for a second operator
//	rank 2  releases      one organization: the releases that build tools announce
//	rank 2  ai            one organization's rules and budget for the assistant
//	rank 2  user          one user of the console: memberships, personal tokens
//	rank 2  organization  one organization: members, application slugs, its tokens
//	rank 2  segments      one application: the definitions of its segments
//	rank 2  person        one visitor of an environment: the decisions of members about this person
//	rank 2  erasures      one application: the erasures of people
//	rank 2  exports       one application: its exports and their files
//	rank 2  reports       one application: its reports and the letters that are due
//	rank 2  destination   one destination: deliveries that are not over
//	rank 2  campaign      one campaign: its texts, and the progress of its sending
//	rank 2  monitor       one monitor: the check, and the state that follows from the results
//	rank 1  alerting      one application: alert rules, incidents, channels, notices
//	rank 1  campaigns     one application: the definitions and decisions of its campaigns
//	rank 1  campaignTally one campaign: the targets of its links, openings and clicks
//	rank 1  suppressions  a sixteenth of the addresses to which one application sends no campaign
//	rank 1  destinations  one application: the destinations of its conversions
//	rank 1  flags         one application: its feature flags and their changes
//	rank 1  billing       one application: its billing connectors, and how far they are read
//	rank 1  connector     one application: the handler of its tenant, which is probed
//	rank 1  telemetry     one environment: its intake and its budgets
//	rank 1  application   one application: settings, ingest keys, public page
//	rank 1  issue         one issue: status, assignee, merges
//	rank 1  live          one environment: the visitors of the last minutes
//	rank 1  intake        one partition of the log: duplicates, sessions, rows
//
// Two kinds call another kind, and both call downwards. A monitor reports to the alerting actor of its application. The
// run of a campaign calls the campaigns actor, the tally and the suppressions. Alerting, connector, destination,
// campaign and billing also call their own actor. All these calls run on goroutines outside the mailbox, and no mailbox
// waits for them. None of them carries a rank, so the cluster does not check their direction: a monitor sets its rank
// (cluster.WithRank), but its reports go out in batches with the reports of other monitors, from a context without it.
//
// The other kinds call no actor. If a request needs two actors (the standing of a token and the membership of its
// owner), the client asks one after the other. The listeners of the pipeline and the loops of a node (reports, exports,
// telemetry) are such clients.
package actors
