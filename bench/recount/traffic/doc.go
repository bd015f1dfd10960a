// Package traffic makes up the visits of an application from a seed: months of
// them, with everything that makes counting hard. Two plans of one seed and one
// moment are the same.
package traffic
