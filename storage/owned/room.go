package owned

import (
	"fmt"

	"svc/domain"
	"svc/storage/clickhouse/state"
)

// retryFull is the retry delay for a caller if its tenant's share of the tail is full. The tables catch up at the next
// move.
const retryFull = movePause

// room returns an error if the tail has no room for a record of its tenants. A tenant may occupy at most as much of the
// tail as is still free. One tenant alone therefore fills only half of it, and the next tenant always finds room.
func (s *Store) room(r *state.Record) error {
	size, most := s.tail.sizes(s.tenantsOf(r))
	if left := s.cfg.Tail - size; left > 0 && most <= left {
		return nil
	}
	refusal := domain.Unavailable("The store", retryFull)
	return &unavailable{refusal, fmt.Errorf("%w: %d bytes of the tenant and %d of all wait for the tables", domain.ErrBacklog, most, size)}
}

// tenantsOf returns the tenants of a record: of the owner of its entities, of its wake-ups, and of its ledger entries
// and audit row.
func (s *Store) tenantsOf(r *state.Record) (tenants []string) {
	for _, entities := range [][]domain.Entity{r.Entities, r.Sealed} {
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
