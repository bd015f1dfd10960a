// Package apps implements the applications of organizations: their actor with its settings, ingest keys, goals, funnels
// and public page, its client, and the snapshots that every node has for requests that must not ask an actor.
package apps
