package person

import "slices"

// Alias joins two visitors, by their numbers.
type Alias struct{ Low, High uint64 }

// Root maps a visitor to the visitor that represents its whole group of aliases.
type Root struct {
	Visitor, Root uint64
	// Edges is the number of aliases in the group.
	Edges uint32
}

// Roots returns the root of every visitor in an alias: the least number in its group, joined directly or through
// others. It depends only on the set of aliases.
func Roots(aliases []Alias) []Root {
	parent := map[uint64]uint64{}
	var find func(visitor uint64) uint64
	find = func(visitor uint64) uint64 {
		up, known := parent[visitor]
		if !known || up == visitor {
			parent[visitor] = visitor
			return visitor
		}
		parent[visitor] = find(up)
		return parent[visitor]
	}
	for _, alias := range aliases {
		a, b := find(alias.Low), find(alias.High)
		parent[max(a, b)] = min(a, b)
	}
	edges := map[uint64]uint32{}
	for _, alias := range aliases {
		edges[find(alias.Low)]++
	}
	roots := make([]Root, 0, len(parent))
	for visitor := range parent {
		root := find(visitor)
		roots = append(roots, Root{Visitor: visitor, Root: root, Edges: edges[root]})
	}
	slices.SortFunc(roots, func(a, b Root) int {
		if a.Visitor < b.Visitor {
			return -1
		}
		return 1
	})
	return roots
}
