// Package state has the tables of what actors own: entities, wake-ups, entries of ledgers and
// audit rows, and a few facts of the whole installation. Writes go to a [Journal] first, which
// moves them here ([Store.Move]); without one they go to the tables at once. [Store.Put] and
// [Store.Append] return nil after what they were given is durable.
package state
