// Package people answers questions about people: who they are, what is known of them, which visitors
// they are made of. A person is made of rows at the moment of a question. Of environments with many people what
// their rows fold to is kept as well (KeepFolds), and whoever changed since is folded again. See "People" in MODULES.md.
package people
