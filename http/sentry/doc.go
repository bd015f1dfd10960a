// Package sentry reads the messages of Sentry's SDKs: envelopes with their items, the older store
// body, and the forms in which they carry a key. It is pure: it answers no request.
//
// The forms are those of the developer documentation of Sentry (develop.sentry.dev, "Envelopes",
// "Event Payloads", "Rate Limiting"). If SDKs write one thing in several forms, all of them are
// read. A field of an impossible form is left out and named among the event's problems, because an
// error without one field is worth more than no error.
package sentry
