// Package people has the actors of people, which own what members of an organization decide about
// them and the definitions of segments, and the listener that has the store put visitors together whom an alias ties.
package people
