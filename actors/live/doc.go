// Package live has the actors of live views, which show who is in an environment now. Listener
// hands them the visits of each stored block.
package live
