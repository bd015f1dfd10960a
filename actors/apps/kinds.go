package apps

import (
	"svc/actors/grain"
	"svc/cluster"
)

// Kinds returns the kinds of this package for the actors of a node. They publish their changes to the node's snapshots.
func Kinds(node *grain.Node, collectors *Collectors, shares *Shares) []cluster.Kind {
	return []cluster.Kind{
		applicationKind.Row(node, func(string) *application {
			return &application{publish: collectors.Publish, publishPage: shares.Publish, remove: collectors.Remove}
		}),
	}
}
