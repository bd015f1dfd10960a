// Package harness is shared by the programs of bench: it starts, kills and measures a server process, renders the
// reference event, drives load in closed and open loops, reads the management API, and writes results as JSON.
//
// It knows only the server's external interfaces: environment variables, HTTP and Prometheus text. Everything binds
// 127.0.0.1 and every wait has a deadline.
package harness
