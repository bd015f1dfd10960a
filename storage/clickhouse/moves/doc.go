// Package moves copies the rows of an environment from one shard to another while both are used, and
// removes them from a shard on which it does not live. Where an environment lives is not its affair.
package moves
