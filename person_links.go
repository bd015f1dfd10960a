package svc

import "slices"

// Alias ties two visitors together, by their numbers.
type Alias struct{ Low, High uint64 }

// Root says which visitor stands for all that aliases tie together.
type Root struct {
	Visitor, Root uint64
	// Edges is how many aliases tie them together.
	Edges uint32
}

// Roots returns the root of every visitor that an alias names: the least number of those that are
// tied together, directly or by others. It depends on the set of aliases only.
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
