// Package person defines people, their links, states and timelines.
package person
