// Package event defines an enriched event, its origin and its session.
package event
