// Package filter defines the dimensions of analytics and the conditions on events.
package filter
