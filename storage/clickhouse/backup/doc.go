// Package backup takes snapshots of the database while it is written, lets the store copy them, and restores them into
// an empty database.
package backup
