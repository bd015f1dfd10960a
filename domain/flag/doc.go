// Package flag defines feature flags and their evaluation.
package flag
