// Package metrics reads the catalogue of metrics and their series: points of the last hours,
// rollups and totals of longer windows.
package metrics
