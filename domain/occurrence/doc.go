// Package occurrence defines one error that was sent: stack, cause, fingerprint.
package occurrence
