// Package destinations stores the log of deliveries to destinations.
package destinations
