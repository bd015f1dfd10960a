package apitest

import (
	"context"
	"slices"

	"svc/domain"
	"svc/domain/conversation"
)

// Passkeys implements api.Passkeys.
func (m *Memory) Passkeys(_ context.Context, person domain.User) ([]conversation.Passkey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.passkeys[person.ID]), nil
}

// AddPasskey implements api.Passkeys.
func (m *Memory) AddPasskey(_ context.Context, person domain.User, _ string, key conversation.Passkey) (conversation.Passkey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key.ID = m.newID("key")
	m.passkeys[person.ID] = append(m.passkeys[person.ID], key)
	return key, nil
}

// UsePasskey implements api.Passkeys.
func (m *Memory) UsePasskey(_ context.Context, person domain.User, key conversation.Passkey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, known := range m.passkeys[person.ID] {
		if known.ID == key.ID {
			m.passkeys[person.ID][i] = key
			return nil
		}
	}
	return domain.NotFound("passkey")
}

// RemovePasskey implements api.Passkeys.
func (m *Memory) RemovePasskey(_ context.Context, person domain.User, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	m.passkeys[person.ID], err = without(m.passkeys[person.ID], "passkey", func(key conversation.Passkey) bool { return key.ID == id })
	return err
}

// NewCeremonyID implements api.Passkeys.
func (m *Memory) NewCeremonyID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.newID("cer")
}

// OpenCeremony implements api.Passkeys.
func (m *Memory) OpenCeremony(_ context.Context, person domain.User, ceremony conversation.Ceremony) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ceremonies[person.ID+ceremony.ID] = ceremony
	return nil
}

// TakeCeremony implements api.Passkeys.
func (m *Memory) TakeCeremony(_ context.Context, person domain.User, id string) (conversation.Ceremony, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken, open := m.ceremonies[person.ID+id]
	if !open {
		return conversation.Ceremony{}, conversation.PasskeyRequired("challenge_over", "The challenge is over or was answered before; begin again.")
	}
	delete(m.ceremonies, person.ID+id)
	return taken, nil
}
