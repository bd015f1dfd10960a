package issues

import (
	"context"
	"time"
)

// ReleaseTimes implements ReleaseOrder by the first sight of releases: announced by a build tool, or in an error.
type ReleaseTimes struct {
	// Store knows when releases first occurred in an error.
	Store     ReleaseOrder
	Announced *Releases
	// Org returns the organization of an environment, empty if it is unknown.
	Org func(environment uint64) string
}

// FirstSeen returns when releases of an environment were first seen; other releases are missing.
func (r *ReleaseTimes) FirstSeen(ctx context.Context, environment uint64, releases []string) (map[string]time.Time, error) {
	known, err := r.Store.FirstSeen(ctx, environment, releases)
	if err != nil {
		return nil, err
	}
	org := r.Org(environment)
	if org == "" {
		return known, nil
	}
	announced, err := r.Announced.Announced(ctx, org, releases)
	for version, at := range announced {
		if seen, occurred := known[version]; !occurred || at.Before(seen) {
			known[version] = at
		}
	}
	return known, err
}
