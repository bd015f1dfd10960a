// Package ingest receives the data of applications: events, errors and metric points in the native format, over OTLP,
// over Prometheus remote write, and from the SDKs of Sentry and PostHog. It also receives the source maps and releases
// that sentry-cli uploads.
//
// Its handlers are raw: they pass none of the gates of package route, because a sender has an ingest key, not a token.
// A request is answered with 202 only after the log has acknowledged the accepted items.
//
// A native request is a submission (submission.go) that goes through these files in order:
//
//  1. collect.go has the routes, and calls the steps.
//  2. collect_key.go finds the key and its permissions.
//  3. collect_body.go reads the body and undoes its encoding, within the bounds of package admission.
//  4. collect_decode.go decodes the body into items.
//  5. collect_item.go, collect_error.go and collect_metric.go check one item each.
//  6. collect_identity.go derives the id of an item that has none.
//  7. collect_send.go adds the item to the payload of its partition, and appends all payloads to the log.
//  8. collect_answer.go answers.
//
// The other protocols (otlp*.go, remotewrite*.go, sentry*.go, posthog.go) have their own steps 1 and 4 and share the
// rest.
package ingest
