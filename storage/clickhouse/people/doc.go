// Package people answers queries about people: their ids, their traits and their visitors. A person is folded from
// rows when a query asks for it. For environments with many people, the refresher also stores the folds as
// materialized profiles (KeepFolds); a read folds only the people that changed since.
//
// # How a list is read
//
//  1. persons.Links.sql maps each linked visitor to persons, with the spans of time in which it belongs to each
//     (docs/decisions/0028-divide-shared-devices-by-time.md).
//  2. A list goes through the visitors, starting with the ones that were first seen last. It folds the facts that the
//     query needs (facts.go) for a few people at a time until the page is full
//     (docs/decisions/0029-find-pages-of-people-among-few-visitors.md).
//  3. It reads the rows of the page's visitors and folds each person. The numbers of visitors with several spans are
//     counted from the events.
//  4. If such reads take long in an environment, the refresher stores the folds of all its people in the table
//     person_folds (docs/decisions/0030-keep-folds-of-large-environments.md). Lists, counts of segments and companies
//     then read these, and fold only the people with rows in newer parts of the tables.
//
// Segments compile into a condition on folds of facts (conditions.go). So counts, members, the filter of analytics and
// the segments of one person (SegmentsOf) are the same query with different ends.
package people
