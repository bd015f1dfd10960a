// Package destinations keeps the log of deliveries to destinations.
package destinations
