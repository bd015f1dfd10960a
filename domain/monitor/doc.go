// Package monitor defines checks of addresses and their history.
package monitor
