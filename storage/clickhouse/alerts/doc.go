// Package alerts reads what alerting needs — incidents, and what the counters of rules count —
// and keeps the checks of monitors.
package alerts
