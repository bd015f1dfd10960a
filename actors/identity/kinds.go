package identity

import (
	"svc/actors/grain"
	"svc/cluster"
)

// Kinds returns the kinds of this package for the actors of a node.
func Kinds(node *grain.Node, limits Limits) []cluster.Kind {
	return []cluster.Kind{
		organizationKind.Row(node, func(string) *organization { return &organization{} }),
		userKind.Row(node, func(string) *user { return &user{} }),
		tokenKind.Row(node, func(identity string) *token { return &token{identity: identity, limits: limits} }),
		replayKind.Row(node, func(identity string) *replay { return &replay{identity: identity} }),
	}
}
