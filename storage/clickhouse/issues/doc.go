// Package issues reads issues and their occurrences, and stores the source maps for their frames. Decisions about
// issues are in package state.
package issues
