// Package campaigns sends messages to many people, to each at most once.
//
// The book owns what is decided about the campaigns of an application. The sender of a campaign owns its texts and how far
// its sending is. While a campaign is sent, one run works for its sender, beside the mailbox: it collects the audience page by
// page into the store, reads it back in chunks, and hands recipients to connections to the mail server. A recipient is
// claimed in the sender's state, durably, after the server has accepted the address and before it is given the message; whoever
// was claimed when a run broke off is counted as uncertain and never tried again. The tally counts who opened and clicked, and
// the suppressions are the addresses to which an application sends nothing.
package campaigns
