// Package cluster hosts virtual actors on proto.actor: it finds or makes the
// one activation of an identity, carries calls to it with retries inside the
// caller's deadline, and passivates what is idle. It knows no word of the
// product; kinds arrive as a table.
//
// Invariants:
//   - An identity hashes to a partition of the log, and its activation lives on
//     the node that owns that partition (Placement). An activation is not made,
//     and a call is not accepted, for a partition that is not owned.
//   - A request is answered exactly once: by the actor, by the recovering
//     middleware after a panic (ErrPanicked: it may have had effects and is not
//     repeated), or by the mailbox once the actor is stopping. The last answer is
//     ErrMoved, which means "not executed", so that Call may try again without
//     harm.
//   - An answer is given out only where no other node can have owned the identity
//     while it was made.
//   - Calls go down in rank only, so no two actors can wait for each other.
//
// What it does not use of the library, and why, is in docs/decisions/0015-call-actors-over-protoactor.md.
package cluster
