// Package people answers queries about people: their ids, their traits and their visitors. A person is folded from rows
// when a query asks for it. For environments with many people, the refresher also stores the folds as materialized
// profiles (KeepFolds); a read folds only the people that changed since. See "People" in MODULES.md.
package people
