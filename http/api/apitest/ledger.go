package apitest

import (
	"context"

	"svc/domain"
)

// Record implements route.Ledger.
func (m *Memory) Record(_ context.Context, entry domain.LedgerEntry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var head domain.LedgerHead
	for i := range m.ledger {
		if m.ledger[i].Org == entry.Org {
			head = m.ledger[i].Head()
		}
	}
	m.ledger = append(m.ledger, entry.Seal(head))
	return nil
}

// LedgerEntries implements accounts.Ledger.
func (m *Memory) LedgerEntries(_ context.Context, org string, kind domain.LedgerKind, before uint64, limit int) (page []domain.LedgerEntry, more bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.ledger) - 1; i >= 0; i-- {
		entry := m.ledger[i]
		if entry.Org != org || kind != "" && entry.Kind != kind || before > 0 && entry.Sequence >= before {
			continue
		}
		if len(page) == limit {
			return page, true, nil
		}
		page = append(page, entry)
	}
	return page, false, nil
}

// CheckLedger implements accounts.Ledger.
func (m *Memory) CheckLedger(_ context.Context, org string) (check domain.LedgerCheck, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.ledger {
		if m.ledger[i].Org == org {
			check.Add(&m.ledger[i])
		}
	}
	return check, nil
}
