//go:build !norevenue

package svc

// builtWithRevenue says whether the program has the module revenue.
const builtWithRevenue = true
