// Package people answers questions about people: who they are, what is known of them, which visitors
// they are made of. A person is made of rows at the moment of a question; nothing of it is stored. See "People" in
// MODULES.md.
package people
