// Package suite fills a running server with generated traffic through its ingest path, asks it random questions, and
// compares every answer with the one that package reference computes from the rows.
package suite
