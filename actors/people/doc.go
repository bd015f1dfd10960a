// Package people implements the actors of people, which own the decisions of an organization's members about them, the
// definitions of segments, and the erasures. It also has the listener that makes the store merge visitors that an alias
// connects.
package people
