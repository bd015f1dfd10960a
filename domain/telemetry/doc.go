// Package telemetry defines the counts of accepted and refused items, budgets and silent signals.
package telemetry
