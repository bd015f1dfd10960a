// Package exports stores the rows of exports as lines of JSON, and lets the engine write files from them.
package exports
