// Package issues reads issues and their occurrences, and keeps the source maps by which their
// frames are read. Decisions about issues are in package state.
package issues
