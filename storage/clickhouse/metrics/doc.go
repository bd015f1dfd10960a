// Package metrics reads the catalogue of metrics and their series, from points for the last hours and from rollups and
// totals for longer windows.
package metrics
