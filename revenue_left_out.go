//go:build norevenue

package svc

// builtWithRevenue reports whether the program contains the module revenue.
const builtWithRevenue = false
