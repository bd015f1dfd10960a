// Package ingest defines the rows of one insert, dead letters and usage.
package ingest
