// Package connector defines the handler that a tenant connects.
package connector
