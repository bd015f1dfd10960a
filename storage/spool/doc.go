// Package spool stores parts on disk that the log did not accept, and delivers them as soon as the log answers again.
// Parts that Append has accepted survive kill -9. They are delivered at least once and in order, so they must carry ids
// by which a repetition is recognised.
package spool
