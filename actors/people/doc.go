// Package people implements the actors of people, of segments and of erasures. An actor of a person owns the decisions
// of an organization's members about the person. The package also has the listener that makes the store merge visitors
// that an alias connects.
//
// # From identify to a profile
//
//  1. The items identify and alias are events ($identify, $alias; anonymous_id holds the other id) and come in the
//     same blocks as other events. Views maintain profiles, arrivals, traits, links and aliases in the same insert, so
//     all of them are exactly once (docs/decisions/0026-compute-persons-when-they-are-read.md).
//  2. Before a block with aliases is committed, AliasListener makes the store find the root of each connected visitor
//     (docs/decisions/0027-tie-and-split-ids-by-durable-decisions.md).
//  3. Package storage/clickhouse/people makes persons of visitors when they are read, and evaluates segments.
//  4. The actor of a person owns the decisions of members, which are part of the person's row. A merge by hand is an
//     alias without an event. An id that a member removed from a person has no earlier ties, or belongs to another
//     person from a time on.
//  5. A segment is a definition that the segments actor of its application owns. It is evaluated at each query
//     (docs/decisions/0031-evaluate-segments-at-the-question.md).
//  6. The owner of partition 0 applies the rules of stages that depend on goals, once an hour
//     (storage/clickhouse/people/lifecycle.go).
package people
