// Package mailing makes the messages of campaigns, hands them to the mail server, and answers what recipients do with them:
// the picture that shows that a message was opened, the links, and the unsubscription.
//
// Every address in a message carries a token that only this service makes. A link leads to the address that stands in the
// campaign under its number, so none of them leads anywhere else. To look at the page of an unsubscription changes nothing,
// since programs that check mail follow links; its button and the one-click request of mail programs (RFC 8058) unsubscribe at
// once.
package mailing
