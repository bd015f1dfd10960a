// Package spool keeps on disk what could not be handed to the log, and hands it over
// as soon as the log answers again. What Append has taken survives kill -9; it is
// handed over at least once, in the order of its taking, so what is handed over must
// carry ids by which a repetition is recognised.
package spool
