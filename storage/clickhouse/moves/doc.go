// Package moves copies the rows of an environment from one shard to another while both are in use, and removes them
// from a shard on which the environment does not live. The caller decides on which shard an environment lives.
package moves
