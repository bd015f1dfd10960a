// Package metric defines measurements, sketches and histograms.
package metric
