// Package annotation defines notes on the time axis of charts.
package annotation
