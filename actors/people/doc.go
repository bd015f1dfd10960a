// Package people implements the actors of people, of segments and of erasures. An actor of a person owns the decisions
// of an organization's members about the person. The package also has the listener that makes the store merge visitors
// that an alias connects.
package people
