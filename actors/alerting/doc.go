// Package alerting implements the actors of monitors and of alert rules with their incidents, channels and notices.
// CountListener counts the rows of each block for the rules. RuleIndex indexes the rules of all applications by
// environment. Schedule notifies the actors of a node when they are due.
//
// # From a due check to a notice
//
//  1. Schedule notifies the monitor actor when its check is due. After a start, monitors that missed a check come
//     first (docs/decisions/0046-schedule-monitors-by-id.md). The actor lets the probe (package http/outbound) perform
//     the check outside its mailbox, on the node's worker pool, over a connection that may be reused. It folds the
//     result into its state, and the check goes into the next batch for the store.
//  2. While the monitor is down, and once after it has recovered, it reports to the alerting actor of its application,
//     and repeats the report until it is acknowledged. Reports of other monitors of the application that arrive
//     meanwhile go with the next call (batcher). The alerting actor folds the reports into the states of its rules,
//     and stores state, incident and deliveries in one write.
//  3. Its shell then asks for a plan: the notices to send and the values to measure now. It does both outside the
//     mailbox and passes the results to the actor's core. Later work is in the schedule.
//
// # From an event to a notice
//
//  1. The open block counts every row that rules count (CountListener), by the node's snapshot of the rules
//     (RuleIndex), and marks issues that may be new.
//  2. OpenBlockPublisher sends the counts of the open block to the alerting actors. If a rule would fire, or an issue
//     may be new, it makes the sink store the block at once (docs/decisions/0048-judge-alert-rules-by-windows.md).
//  3. Between insert and commit, CountListener reports the counts of the block to the actors, under the block's
//     number. They add the counts to the windows that they once read from the store, and evaluate the rules. Changes
//     that depend on time alone are in the schedule.
//  4. The listener of package issues reports new issues and regressions between insert and commit
//     (docs/decisions/0041-report-new-issues-exactly-once.md). In the simulation of its tests, an incident counts
//     every issue once and a rule on the sum of a metric knows the sum of all sent points, whichever node dies.
package alerting
