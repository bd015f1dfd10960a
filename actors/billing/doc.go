// Package billing reads billing systems: each application has one actor, which owns its billing connectors and how far the
// reading of each provider came.
//
// A reading goes in steps. A step asks the provider for one page, hands the items to the log, and only then has the actor keep
// the position after them: a crash in between repeats the step, and its items have the same ids. Steps run on goroutines beside
// the mailbox, and wake-ups have the actor make the next one. Nothing of it is on the way from the log to the store.
package billing
