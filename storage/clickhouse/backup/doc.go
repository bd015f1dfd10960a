// Package backup takes snapshots of the database while it is written, has the store copy them,
// and restores them into an empty database.
package backup
