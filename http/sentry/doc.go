// Package sentry reads the messages of Sentry's SDKs: envelopes with their items, the older store body, and the forms
// in which they carry a key. It is pure: it answers no request.
//
// The forms come from the developer documentation of Sentry (develop.sentry.dev, "Envelopes", "Event Payloads", "Rate
// Limiting"). If SDKs write one value in several forms, the package reads all of them. It omits a field of an invalid
// form and lists it among the event's problems, because an error without one field is worth more than no error.
package sentry
