// Package flags stores evaluations of flags and the variants that persons were served, and computes the results.
package flags
