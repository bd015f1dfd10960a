// Package spool keeps on disk what the log did not take, and hands it over as soon as the log
// answers again. Parts that Append has accepted survive kill -9. They are handed over at least
// once, in their order, so they must carry ids by which a repetition is recognised.
package spool
