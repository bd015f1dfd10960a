// Package connector implements the connectors of applications: the handlers of tenants, which are probed once a minute.
// The actor of an application's connector decides when a probe begins and saves that before it begins, so probes never
// overlap, also through crashes and moves. Every node has the connectors in its index.
package connector
