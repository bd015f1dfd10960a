package health

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
)

// shownUnreadable is the number of owners that a warning names.
const shownUnreadable = 5

// Unreadable collects entities that loads left out because they cannot be decoded or stored. It logs each once, counts
// them, and warns at /readyz until the next start.
type Unreadable struct {
	logger *slog.Logger
	count  *prometheus.CounterVec

	mu     sync.Mutex
	known  map[string]struct{}
	owners []string
}

// NewUnreadable returns an empty collection that counts in a registry.
func NewUnreadable(registry prometheus.Registerer, logger *slog.Logger) *Unreadable {
	u := &Unreadable{logger: logger, known: map[string]struct{}{}, count: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "svc_unreadable_entities_total", Help: "Entities and records of the journal that were left out because they cannot be decoded or stored, each counted once.",
	}, []string{"kind"})}
	registry.MustRegister(u.count)
	return u
}

// Skipped adds an entity that was left out.
func (u *Unreadable) Skipped(entity domain.Entity, cause error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := entity.Owner + " " + entity.Kind + " " + entity.ID
	if _, again := u.known[name]; again {
		return
	}
	u.known[name] = struct{}{}
	owner := entity.Owner
	if owner == "" {
		owner = entity.Kind + " " + entity.ID
	}
	if !slices.Contains(u.owners, owner) {
		u.owners = append(u.owners, owner)
	}
	u.count.WithLabelValues(entity.Kind).Inc()
	u.logger.Error("what cannot be read is left out", "owner", entity.Owner, "kind", entity.Kind, "id", entity.ID, "error", cause)
}

// Warning returns an error that names the entities that were left out, or nil if no entity was.
func (u *Unreadable) Warning(context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.known) == 0 {
		return nil
	}
	named := strings.Join(u.owners[:min(len(u.owners), shownUnreadable)], ", ")
	if more := len(u.owners) - shownUnreadable; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%d entities cannot be read and were left out, of %s; the log names each", len(u.known), named)
}
