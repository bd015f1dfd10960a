// Package destination defines destinations of conversions.
package destination
