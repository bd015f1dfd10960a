// Package cluster hosts virtual actors on proto.actor. It finds or creates the one activation of an identity, carries
// calls to it with retries within the caller's deadline, and passivates idle activations. It knows no product term;
// kinds arrive as a table.
//
// Invariants:
//   - An identity hashes to a partition of the log, and its activation lives on
//     the node that owns that partition (Placement). For a partition that is not
//     owned, no activation is created and no call is accepted.
//   - A request is answered exactly once: by the actor, by the recovering
//     middleware after a panic (ErrPanicked: it may have had effects and is not
//     repeated), or by the mailbox once the actor is stopping. The mailbox answers
//     ErrMoved, which means "not executed", so that Call may safely try again.
//   - An answer is returned only if no other node can have owned the identity
//     while it was computed.
//   - Calls go to lower ranks only, so no two actors can wait for each other.
//
// The features of the library that it does not use, and the reasons, are in
// docs/decisions/0015-call-actors-over-protoactor.md.
package cluster
