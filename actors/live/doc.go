// Package live implements the actors of live views, which show the current visitors of an environment. Listener passes
// them the visits of each stored block.
package live
