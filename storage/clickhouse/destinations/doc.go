// Package destinations keeps the log of deliveries to destinations, and reads how people are reached.
package destinations
