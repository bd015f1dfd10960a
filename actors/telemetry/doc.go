// Package telemetry implements the intake settings of an environment: its policy, its budgets, and the notices about
// them.
package telemetry
