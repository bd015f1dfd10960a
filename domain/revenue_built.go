//go:build !norevenue

package domain

// builtWithRevenue reports whether the program contains the module revenue.
const builtWithRevenue = true
