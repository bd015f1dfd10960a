package apps

import (
	"slices"

	"svc/domain"
)

// KeysOf returns all entries of collectors.
func KeysOf(c *Collectors) map[[32]byte]domain.Collector {
	keys := map[[32]byte]domain.Collector{}
	c.byKey.Range(func(hash, collector any) bool {
		keys[hash.([32]byte)] = *collector.(*domain.Collector)
		return true
	})
	return keys
}

// LinksOf returns all links of shares.
func LinksOf(s *Shares) []string {
	var found []string
	for link := range s.pages.All() {
		found = append(found, link)
	}
	slices.Sort(found)
	return found
}
