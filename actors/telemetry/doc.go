// Package telemetry has what an environment takes in: its policy, its budgets, and who was told of them.
package telemetry
