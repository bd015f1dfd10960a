// Package apps implements the applications of organizations. It has their actor with its settings, ingest keys, goals,
// funnels and public page, and its client. It also has the snapshots that every node has for requests that must not ask
// an actor.
package apps
