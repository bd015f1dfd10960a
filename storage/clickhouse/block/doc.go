// Package block stores blocks of events, errors and metric points exactly once: [Store.Insert]
// stores a block in its table and in every aggregate, however often it is repeated with the same
// token, and a repetition completes what an interrupted insert left undone. Rows that the store
// refuses are found by [Store.Sift] and kept as dead letters. After a restart, intakes read back
// from here what the stored rows say of ids, sessions and series.
package block
