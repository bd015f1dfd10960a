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
//
// # Terms
//
//   - The identity graph of an environment consists of links and alias edges. An identify links its anonymous id to its
//     known id from its time on; the first link also applies before. An alias or a merge adds an alias edge, which
//     joins two ids at all times. A root represents all ids that alias edges join directly or through others.
//   - A span is the time from which on a visitor belongs to a person. A shared visitor has several spans.
//   - A fact is a value of a visitor. A person is the fold of the facts of their visitors, computed when a query needs
//     it.
//   - A prefilter is a query for visitors that include at least one visitor of each person that meets a condition.
//   - A page source is one of the ways to find the people of a page: materialized profiles, the visitors of a
//     prefilter, the latest visitors, or all people. The visitors form a queue, which is folded in batches.
//   - A materialized profile is the stored fold of a person, in the table person_folds. The refresher (KeepFolds)
//     writes the profiles of environments with slow reads. A read folds only the people that changed since. The table
//     profiles is different: its rows are visitors.
package people
