// Package flags implements the actor that owns the flags of an application, and the snapshot of compiled flags with
// which every node evaluates.
package flags
