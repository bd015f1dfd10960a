package actors

import (
	"maps"
	"slices"
	"time"

	"svc"
)

// The person's invitations, of the user actor: where a seat may be offered. Each
// organization's own invitation decides; this list is how the person finds it. It is there
// for addresses that nobody has signed in with, so an invitation tells no one whether the
// person is known.
type noteOffer struct {
	Org string `json:"org"`
	// Name is what the inviter calls the person.
	Name      string    `json:"name,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func offerHandlers() map[string]handler[*user] {
	return map[string]handler[*user]{
		"offer.note":   on((*user).onNoteOffer),
		"offer.forget": on((*user).onForgetOffer),
		"offers":       on((*user).onOffers),
		"enter":        on((*user).onEnter),
	}
}

// strangers lists the methods that serve an address of which no person is known.
func strangers() []string {
	return []string{"ensure", "enter", "offer.note", "offer.forget", "offers"}
}

// onNoteOffer notes an invitation. What has expired is forgotten on the way, and so is the
// invitation that ends first where there would be too many.
func (u *user) onNoteOffer(now time.Time, m noteOffer) (outcome, error) {
	u.offers[m.Org] = m
	writes := []write{{"offer", m.Org, m}}
	byEnd := slices.SortedFunc(maps.Values(u.offers), func(a, b noteOffer) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	for _, old := range byEnd {
		if old.Org != m.Org && (!now.Before(old.ExpiresAt) || len(u.offers) > svc.MaxOffers) {
			delete(u.offers, old.Org)
			writes = append(writes, write{"offer", old.Org, nil})
		}
	}
	return outcome{answer: none{}, writes: writes}, nil
}

func (u *user) onForgetOffer(_ time.Time, m noteOffer) (outcome, error) {
	if _, noted := u.offers[m.Org]; !noted {
		return outcome{answer: none{}}, nil
	}
	delete(u.offers, m.Org)
	return outcome{answer: none{}, writes: []write{{"offer", m.Org, nil}}}, nil
}

// onOffers lists the organizations that may offer a seat, by slug.
func (u *user) onOffers(now time.Time, _ none) (outcome, error) {
	slugs := []string{}
	for _, slug := range slices.Sorted(maps.Keys(u.offers)) {
		if now.Before(u.offers[slug].ExpiresAt) {
			slugs = append(slugs, slug)
		}
	}
	return outcome{answer: slugs}, nil
}

// onEnter returns the person who signs in. Where nobody is known yet but an invitation is
// open, the person is made, by the name that the first inviter gave.
func (u *user) onEnter(now time.Time, m ensureUser) (outcome, error) {
	var open []noteOffer
	for _, offer := range u.offers {
		if now.Before(offer.ExpiresAt) {
			open = append(open, offer)
		}
	}
	if u.user == nil && len(open) == 0 {
		return outcome{}, svc.NotFound("user")
	}
	if u.user == nil {
		m.User.Name = slices.MinFunc(open, func(a, b noteOffer) int { return a.ExpiresAt.Compare(b.ExpiresAt) }).Name
	}
	return u.onEnsure(now, m)
}
