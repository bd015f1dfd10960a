// Package issue defines groups of occurrences and their states.
package issue
