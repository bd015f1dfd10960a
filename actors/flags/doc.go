// Package flags has the actor that owns the flags of an application, and the snapshot of compiled
// flags from which every node evaluates.
package flags
