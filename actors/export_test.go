package actors

import (
	"slices"

	"svc"
)

// keysOf returns everything that collectors hold.
func keysOf(c *Collectors) map[[32]byte]svc.Collector {
	keys := map[[32]byte]svc.Collector{}
	c.byKey.Range(func(hash, collector any) bool {
		keys[hash.([32]byte)] = *collector.(*svc.Collector)
		return true
	})
	return keys
}

// linksOf returns everything that shares hold.
func linksOf(s *Shares) []string {
	var found []string
	s.byLink.Range(func(link, _ any) bool {
		found = append(found, link.(string))
		return true
	})
	slices.Sort(found)
	return found
}
