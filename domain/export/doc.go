// Package export defines exports of events and people.
package export
