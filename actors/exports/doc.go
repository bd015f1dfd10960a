// Package exports implements the actors of exports, which own the requests for files of events and people, and the
// runner that collects their rows.
package exports
