// Package block stores blocks of events, errors and metric points exactly once. [Store.Insert] stores a block in its
// table and in every aggregate. It may be repeated any number of times with the same token; a repetition completes an
// interrupted insert. [Store.Sift] finds the rows that the store refuses, which become dead letters. After a restart,
// intakes read the ids, sessions and series of the stored rows from here.
package block
