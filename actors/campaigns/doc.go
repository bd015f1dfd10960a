// Package campaigns sends messages to many people, to each at most once.
//
// The book owns the definitions of an application's campaigns and the decisions about them. The sender of a campaign
// owns its texts and the progress of its sending. While a campaign is sent, one run works for its sender, outside the
// mailbox. It collects the audience page by page into the store, reads it back in chunks, and passes recipients to
// connections to the mail server. A recipient is claimed in the sender's state, durably, after the server has accepted
// the address and before it receives the message. If a run breaks off, its claimed recipients are counted as uncertain
// and never tried again. The tally counts openings and clicks by recipients. The suppressions are the addresses to
// which an application sends nothing.
package campaigns
