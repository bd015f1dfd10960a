package identity

import (
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain/signin"
)

// The user's invitations, part of the user actor: the organizations that may offer a seat. Each organization's own
// invitation decides; the user finds it by this list. The list also exists for addresses without an account, so an
// invitation does not reveal whether the user is known.
type noteOffer struct {
	Org string `json:"org"`
	// Name is the inviter's name for the user.
	Name      string    `json:"name,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// The methods of the user actor.
var (
	userNoteOffer   = grain.On(userKind, "offer.note", (*user).onNoteOffer, grain.Repeatable)
	userForgetOffer = grain.On(userKind, "offer.forget", (*user).onForgetOffer, grain.Repeatable)
	userOffers      = grain.On(userKind, "offers", (*user).onOffers, grain.Repeatable)
)

// strangers lists the methods that serve an address without a known user.
func strangers() []string {
	return []string{"vouch", "register", "account", "revoked", "offer.note", "offer.forget", "offers"}
}

// onNoteOffer records an invitation. It drops expired invitations. If there are too many, it also drops the one that
// ends first.
func (u *user) onNoteOffer(now time.Time, m noteOffer) (grain.Outcome[grain.None], error) {
	u.offers[m.Org] = m
	writes := []grain.Write{grain.Put("offer", m.Org, m)}
	byEnd := slices.SortedFunc(maps.Values(u.offers), func(a, b noteOffer) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	for _, old := range byEnd {
		if old.Org != m.Org && (!now.Before(old.ExpiresAt) || len(u.offers) > signin.MaxOffers) {
			delete(u.offers, old.Org)
			writes = append(writes, grain.Delete("offer", old.Org))
		}
	}
	return grain.Answer(grain.None{}, writes...), nil
}

func (u *user) onForgetOffer(_ time.Time, m noteOffer) (grain.Outcome[grain.None], error) {
	if _, noted := u.offers[m.Org]; !noted {
		return grain.Answer(grain.None{}), nil
	}
	delete(u.offers, m.Org)
	return grain.Answer(grain.None{}, grain.Delete("offer", m.Org)), nil
}

// onOffers lists the organizations that may offer a seat, by slug.
func (u *user) onOffers(now time.Time, _ grain.None) (grain.Outcome[[]string], error) {
	slugs := []string{}
	for _, slug := range slices.Sorted(maps.Keys(u.offers)) {
		if now.Before(u.offers[slug].ExpiresAt) {
			slugs = append(slugs, slug)
		}
	}
	return grain.Answer(slugs), nil
}
