// Package billing reads billing systems: each application has one actor, which owns its billing connectors and the
// position of each provider's reading.
//
// A reading consists of steps. A step asks the provider for one page, passes the items to the log, and only then stores
// the position after them in the actor. A crash in between repeats the step, and its items have the same ids. Steps run
// on goroutines outside the mailbox, and wake-ups make the actor start the next one. None of this is on the path from
// the log to the store.
package billing
