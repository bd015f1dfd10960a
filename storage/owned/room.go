package owned

import (
	"fmt"

	"svc"
	"svc/storage/clickhouse/state"
)

// retryFull is when a caller may try again whose tenant's share of the tail is full: the tables
// follow at the next move.
const retryFull = movePause

// room returns why a record is refused while the tables do not follow: its tenant may have as much
// in the tail as is left of it. So one alone fills half of it, and whoever comes later always
// finds room.
func (s *Store) room(r *state.Record) error {
	size, most := s.tail.sizes(s.tenantsOf(r))
	if left := s.cfg.Tail - size; left > 0 && most <= left {
		return nil
	}
	refusal := svc.Unavailable("The store", retryFull)
	return &unavailable{refusal, fmt.Errorf("%w: %d bytes of the tenant and %d of all wait for the tables", svc.ErrBacklog, most, size)}
}

// tenantsOf returns whose a record is: by the owner of its entities, and by whom its trail names.
func (s *Store) tenantsOf(r *state.Record) (tenants []string) {
	for _, entities := range [][]svc.Entity{r.Entities, r.Sealed} {
		if len(entities) > 0 {
			tenants = append(tenants, s.cfg.TenantOf(entities[0].Owner))
		}
	}
	for n := range r.Wakeups {
		tenants = append(tenants, s.cfg.TenantOf(r.Wakeups[n].Kind+"/"+r.Wakeups[n].Identity))
	}
	for n := range r.Left {
		tenants = append(tenants, r.Left[n].Org)
	}
	if r.Audit != nil {
		tenants = append(tenants, r.Audit.Org)
	}
	return tenants
}
