// Package traffic generates the visits of an application from a seed: months of them, with everything that makes
// counting hard. Two plans with the same seed and instant are equal.
package traffic
