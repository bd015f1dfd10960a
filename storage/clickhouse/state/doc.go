// Package state has the tables with the state of actors, which are entities, wake-ups, ledger entries and audit rows,
// and a few facts about the whole installation. Writes go to a [Journal] first, which moves them here ([Store.Move]).
// Without a journal they go to the tables at once. When [Store.Put] and [Store.Append] return nil, the data is durable.
package state
