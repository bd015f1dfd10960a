// Package assistant runs the turns of conversations. A turn asks a model, executes the tools that it calls, proposes
// actions that need a member's decision, and reports everything as frames. It runs outside the mailbox of the
// conversation's actor. The actor granted the claim to the turn, and accepts messages that carry the turn's number.
//
// Invariants:
//   - Nothing is written unless a member approved it, or the member marked the tool as
//     always allowed and the model has read nothing untrusted.
//   - A tool is called with a token that was minted for the turn and is revoked at its
//     end; the token is in no frame, message or log line.
//   - A turn ends: after 16 rounds, 120 seconds, a repeated call, a budget that is used
//     up, 30 seconds without a follower, or the end of the node. The conversation
//     records its end, or notices it when the turn's time is over.
package assistant
