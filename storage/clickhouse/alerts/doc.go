// Package alerts reads the data for alerting, which are incidents and the counts of rules, and stores the checks of
// monitors.
package alerts
