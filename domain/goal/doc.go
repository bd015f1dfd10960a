// Package goal defines goals of an application.
package goal
