// Package flags answers evaluations of feature flags, with ingest keys: the native endpoint, the OpenFeature Remote
// Evaluation Protocol, the flags of PostHog's SDKs, the streams that tell of changes, and the definitions for servers
// that evaluate themselves.
//
// All of them read the snapshot of compiled flags that the node holds, and evaluate by svc.FlagSet.Evaluate. A request
// takes no lock and calls nobody, so it is answered while the log and the store are away, by the last known
// definitions.
package flags
