// Package flags answers evaluations of feature flags, with ingest keys. It has the native endpoint, the OpenFeature
// Remote Evaluation Protocol, the flags of PostHog's SDKs, the streams of changes, and the definitions for servers that
// evaluate themselves.
//
// All of them read the node's snapshot of compiled flags, and evaluate by flag.Set.Evaluate. A request takes no lock
// and makes no call. So it is answered while the log and the store are unavailable, by the last known definitions.
package flags
