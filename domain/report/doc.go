// Package report defines e-mail reports.
package report
