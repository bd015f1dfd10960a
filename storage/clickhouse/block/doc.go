// Package block stores blocks of events, errors and metric points exactly once: [Store.Insert]
// stores a block in its table and in every aggregate, however often it is repeated with the same
// token, and a repetition completes what an interrupted insert left undone. [Store.Sift] finds the
// rows that the store refuses, which are kept as dead letters. After a restart, intakes read the
// ids, sessions and series of the stored rows from here.
package block
