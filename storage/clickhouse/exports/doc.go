// Package exports keeps the rows of exports, as lines of JSON, and has the engine write files of them.
package exports
