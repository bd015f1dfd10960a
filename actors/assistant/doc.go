// Package assistant runs the turns of conversations. A turn asks a model, executes the tools that it calls, proposes
// actions that need a member's decision, and reports everything as frames. It runs outside the mailbox of the
// conversation's actor. The actor granted the claim to the turn, and accepts messages that carry the turn's number.
//
// Invariants:
//
//   - Nothing is written unless a member approved it, or the member marked the tool as always allowed and the model
//     has read nothing untrusted.
//   - A tool is called with a token that was minted for the turn and is revoked at its end; the token is in no frame,
//     message or log line.
//   - A turn ends: after 16 rounds, 120 seconds, a repeated call, a budget that is used up, 30 seconds without a
//     follower, or the end of the node. The conversation records its end, or notices it when the turn's time is over.
//
// # From a question to an answer
//
//  1. The handler of ai.ask finds a model for the organization (its own credential, else the one of the operator),
//     counts the question, and reserves the next turn in the memory of the conversation's actor. The actor refuses if
//     another turn runs, actions wait, or the store is known to be down; the stream does not open then. The claim and
//     the question are stored during the first round. Until then no part of the answer is shown, no tool runs and
//     nothing is spent. Then the member's inbox is updated.
//  2. The turn asks the model (package http/outbound/llm) within the member's rights and the organization's rules.
//     Text goes into the turn's buffer as it arrives. A client that follows the turn reads the buffer from the last id
//     that it has seen.
//  3. DecideCall decides about each call of the model. A read goes through the router with a token of the turn that
//     acts as the member (package http/tools). Its answer goes back to the model in an envelope of at most 24 KB. Any
//     other call is proposed, with a preview of the present state.
//  4. The actor records the round. The turn then reads the rights, the rules and the budget again for the next round.
//     At the end it revokes its token and releases the claim. Meanwhile the node renews the turn every five seconds; a
//     turn without a renewal for 15 seconds is lost.
//  5. An approval is a turn that begins with the action. Rights, rules and the previewed state are checked again, the
//     tool is executed once, its result replaces the proposal in the history, and the model continues.
//  6. A request to the outside waits in the organization's queue for a second operator. That operator's approval
//     claims it in its conversation before anything is sent (docs/decisions/0058-approve-actions-by-their-reach.md). A
//     destructive action is approved in the console with a passkey, and its challenge is derived from the action
//     (docs/decisions/0066-prove-accounts-and-sign-in-with-passkeys.md).
package assistant
