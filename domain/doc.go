// Package domain defines the domain of the product: organizations, applications, environments, tokens, keys, events,
// windows and their rules.
//
// The package consists of plain data and pure functions over the standard library. Time and randomness are arguments.
// Nothing here performs I/O, and no vendor's type appears. The other folders do the I/O: http serves callers, actors
// own state, storage speaks to Kafka and ClickHouse, cluster wraps the actor library; cmd/svc wires them.
//
// # Words
//
//   - An organization owns applications; an application has three environments
//     and a list of modules.
//   - An access token (personal, organization, assistant, console) calls the
//     management API. An ingest key (public, secret) sends events.
//   - A client sends items; an event is the enriched row that is stored for one; a
//     record is the value of one Kafka offset (many events); a block is one ClickHouse insert
//     (many records). A shard is one of the stores among which environments are divided; an environment
//     belongs to exactly one.
//   - A visitor is the distinct id of an event, or its anonymous id if no
//     distinct id was sent. A session, or visit, is a visitor's run of events without
//     a pause of 30 minutes, or the run that the client marks as a session; bots that present the
//     id of a visitor have visits of their own. A bounce is a session of exactly one page view, no
//     other interactive event and less than 10 s of engagement. For a filter, the
//     entry of a session is the path of its first page view in the window, and its exit
//     the path of its last. An origin describes where a visit came from (referrer, source,
//     medium, campaign, click identifiers): the first event to arrive states it, and
//     all events of the visit carry it.
//   - A person is the set of visitors that identify, alias and members have joined, else one visitor.
//     An identify makes its distinct id known, and links its anonymous id to it from then on; the first
//     link also applies to earlier events, unless an alias ties the anonymous id to another person. Links never
//     join two known ids; an alias does.
//   - A goal is an event or a path that visitors are meant to reach. It applies to stored events
//     of any time. A conversion is an event that meets any goal, counted once; a goal's
//     own conversions are all events that meet it, and its visitors are the distinct
//     visitors of each local day, summed, as everywhere.
//   - A funnel is an ordered list of steps; funnel_fold.go defines how it counts. It counts
//     persons, as retention does: the events of their visitors are combined.
//   - An occurrence is one reported error; an issue groups the occurrences of one cause by their
//     fingerprint. A resolved issue regresses when it occurs after its resolution, or in a later release.
//   - A metric point is a measurement with labels; a series is the points of one metric and one set of
//     labels; a slot is the unit of time in which values are summed.
//   - A monitor checks a URL; it is down once enough consecutive checks have failed. An alert
//     rule compares a value with a threshold and fires; an incident is one period in which it
//     fired; a channel receives notices of it, and a delivery is a notice on its way.
//   - A flag answers a question of the application's code about one visitor: on or off, or a variant. A rule of a
//     flag serves a variant to the visitors that meet its conditions; a rollout is the share of people for whom a flag is
//     on; an evaluation is one answer, an exposure the first one of a visitor with a variant. A revision numbers the
//     state of all flags of an application.
//   - MRR is the monthly value of a subscription; a movement is one change of it; a ledger is the history of all
//     subscriptions and payments of an environment in its reporting currency. A billing item is a report of a billing
//     system.
//   - A conversation is a member's exchange with the assistant about one application. A
//     turn is one question with its answer, or one approval with its consequences; a round is
//     one request to a model within it. A tool is a route as a model calls it; an action is
//     a call that a person decides on.
//
// Words of the infrastructure, which DESIGN.md uses:
//
//   - The log is the Kafka topic of accepted items; each of its partitions has one owner among the
//     nodes, for the length of a generation: the time between two assignments of partitions.
//   - An actor is one entity's state with one owner: its identity hashes to a partition, and its activation
//     lives in memory on the node that owns the partition. Its core is pure state and rules; its shell loads,
//     saves and answers. A wake-up is a stored time at which an actor is called.
//   - The intake folds the records of a partition into rows; the sink stores the rows of all partitions of a
//     node as blocks. A listener receives the rows of every block; a note is a message about a block that an actor
//     could not accept in time, and the outbox delivers it.
//   - A snapshot is a copy in memory, on every node, of entities that requests need without a call.
//   - A port is a small interface that its user declares and cmd/svc implements.
//   - A module is one area of the product with everything that it adds: routes, actors, listeners, parts.
//     A part is a component that runs from the start of a node to its stop.
//
// # Packages
//
// This package defines the basics that every noun uses: organizations, applications, members, tokens, keys, errors,
// pages, windows, the ledger, and the table of personal data. Each other noun has a package below with its pure rules:
//
//   - event, filter, goal, segment, analytics, funnel, share, annotation: visits and what is counted of them
//   - occurrence, issue, release: errors and their groups
//   - metric, monitor, alert, report: measurements, checks, rules, incidents, channels
//   - person, export, revenue: people, their files, their subscriptions
//   - flag, campaign, destination, connector, conversation, signin: the other modules
//   - ingest, telemetry: the rows of one insert, dead letters, and the counts of accepted and refused items
//
// The compiler forbids circles between them; cmd/house/imports_test.go lists the permitted imports.
package domain
