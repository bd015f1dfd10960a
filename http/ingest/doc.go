// Package ingest takes in what applications send: events, errors and metric
// points in the native format, over OTLP, over Prometheus remote write, and from
// the SDKs of Sentry, with the source maps and releases that sentry-cli uploads.
//
// Its handlers are raw: they meet none of the gates of package route, because a
// sender shows an ingest key, not a token. A request is answered with 202 only
// after the log has acknowledged what was accepted.
package ingest
