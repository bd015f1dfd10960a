// Package issues reads issues and their occurrences, and keeps the source maps that their frames
// are read with. What was decided about an issue is in package state.
package issues
