// Package sentry reads what the SDKs of Sentry send: envelopes with their items,
// the older store body, and the forms in which they carry a key. It is pure: no
// request is answered here.
//
// The forms are those of the developer documentation of Sentry (develop.sentry.dev,
// "Envelopes", "Event Payloads", "Rate Limiting"). Where SDKs differ in how they write
// one thing, all of their forms are read; a field of an impossible form is left out
// and named among the event's problems, for an error with one field less is worth
// more than none.
package sentry
