// Package mailing makes the messages of campaigns, sends them to the mail server, and serves the actions of recipients:
// the picture that shows that a message was opened, the links, and the unsubscription.
//
// Every address in a message carries a token that only this service can make. A link leads to the address that the
// campaign lists under its number, so a link cannot lead anywhere else. Opening the page of an unsubscription changes
// nothing, since programs that check mail follow links. Its button and the one-click request of mail programs (RFC
// 8058) unsubscribe at once.
package mailing
