// Package segment defines segments, their definitions and the lifecycle stages.
package segment
