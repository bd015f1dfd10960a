// Package campaigns sends messages to many people, to each at most once
// (docs/decisions/0053-send-campaigns-at-most-once.md).
//
//  1. The book owns the definitions of an application's campaigns and the decisions about them. The client arms the
//     sender of a campaign before it changes the book, so the sender looks at the campaign even if the client ends in
//     between. The sender owns the texts and the progress of the sending.
//  2. While a campaign is sent, one run works for its sender, outside the mailbox. It collects the audience page by
//     page into the store. The sender records each page under its own number, so a page that a crash repeats counts
//     once. The run reads recipients back in chunks and passes them to workers, each with one connection to the mail
//     server.
//  3. A worker checks the suppressions (the addresses to which an application sends nothing), offers the address to
//     the mail server, and claims the recipient. The run gathers the claims and results of all workers into one save
//     of the sender. Only after that save does the server receive the message. If a run breaks off, its claimed
//     recipients are counted as uncertain and never tried again.
//  4. The outcomes of a chunk go to the store under its first number. Then the sender adds them to its sums.
//  5. The image and the links of a message (package http/mailing) carry signed tokens. The tally counts openings and
//     clicks, with one bit for each recipient.
package campaigns
