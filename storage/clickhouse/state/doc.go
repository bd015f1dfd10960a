// Package state stores what actors own: entities, wake-ups, entries of ledgers and audit rows,
// and a few facts of the whole installation. Small writes go to a journal first, one row of a
// table that appends to a file, and move to their tables together. [Store.Put] and
// [Store.Append] return nil after the rows are stored; on a durable connection they are forced
// to disk by then.
package state
