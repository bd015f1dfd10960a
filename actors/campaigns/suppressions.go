package campaigns

import (
	"time"

	"svc/actors/grain"
	"svc/domain"
)

// The suppressions actor.
//
//	identity   org/app/digit, two slugs and the first digit of the hashes
//	rank       1
//	owns       the addresses to which the application sends no campaign, by their hashes
//	persists   entities suppression
//	woken by   calls only
//	limits     none: an address that was suppressed must stay so
//	stops      after ten minutes without a message
//
// An address is stored as a hash under a key of the vault. So after an erasure, the stored hash of a person only says
// that nothing is sent to the owner of that address.
const kindSuppressions = "suppressions"

// kindSuppression is the kind of its entities.
const kindSuppression = "suppression"

// The reasons of suppressions.
const (
	reasonUnsubscribed = "unsubscribed"
	reasonBounced      = "bounced"
)

// suppression is the reason for sending nothing to an address.
type suppression struct {
	Reason   string    `json:"reason"`
	Campaign string    `json:"campaign"`
	At       time.Time `json:"at"`
}

type suppressions struct{ known map[string]suppression }

type (
	suppressAddress struct {
		Hash     string `json:"hash"`
		Reason   string `json:"reason"`
		Campaign string `json:"campaign"`
	}
	knownAddresses struct {
		Hashes []string `json:"hashes"`
	}
)

var suppressionsKind = grain.NewKind[*suppressions](kindSuppressions, 1, 10*time.Minute)

// The methods of the suppressions actor.
var (
	suppressionsAdd   = grain.On(suppressionsKind, "add", (*suppressions).onAdd, grain.Repeatable)
	suppressionsLift  = grain.On(suppressionsKind, "lift", (*suppressions).onLift, grain.Repeatable)
	suppressionsKnown = grain.On(suppressionsKind, "known", (*suppressions).onKnown, grain.Repeatable)
)

// Restore reads the suppressions.
func (s *suppressions) Restore(entities []domain.Entity) error {
	var err error
	s.known, err = grain.DecodeAll[suppression](entities)
	return err
}

// onAdd suppresses an address. A suppressed address stays as it is, but an unsubscription replaces a bounce.
func (s *suppressions) onAdd(now time.Time, m suppressAddress) (grain.Outcome[grain.None], error) {
	if old, known := s.known[m.Hash]; known && (old.Reason == m.Reason || old.Reason == reasonUnsubscribed) {
		return grain.Answer(grain.None{}), nil
	}
	s.known[m.Hash] = suppression{Reason: m.Reason, Campaign: m.Campaign, At: now}
	return grain.Answer(grain.None{}, grain.Put(kindSuppression, m.Hash, s.known[m.Hash])), nil
}

// onLift reverts an unsubscription; a bounce stays.
func (s *suppressions) onLift(_ time.Time, m suppressAddress) (grain.Outcome[grain.None], error) {
	if s.known[m.Hash].Reason != reasonUnsubscribed {
		return grain.Answer(grain.None{}), nil
	}
	delete(s.known, m.Hash)
	return grain.Answer(grain.None{}, grain.Delete(kindSuppression, m.Hash)), nil
}

// onKnown returns the suppressed ones of some addresses.
func (s *suppressions) onKnown(_ time.Time, m knownAddresses) (grain.Outcome[knownAddresses], error) {
	found := knownAddresses{Hashes: []string{}}
	for _, hash := range m.Hashes {
		if _, known := s.known[hash]; known {
			found.Hashes = append(found.Hashes, hash)
		}
	}
	return grain.Answer(found), nil
}
