package share

import (
	"svc/domain/funnel"
	"svc/domain/goal"
)

// AppPart names data that an application's actor stores in addition to the settings. A request that needs it reads it
// together with the settings, in one query.
type AppPart string

// The parts; a request that needs no part names none.
const (
	AppGoals   AppPart = "goals"
	AppFunnels AppPart = "funnels"
	AppShare   AppPart = "share"
)

// AppPartNames lists the parts.
func AppPartNames() []AppPart { return []AppPart{AppGoals, AppFunnels, AppShare} }

// AppParts holds the requested part of an application; the others are nil.
type AppParts struct {
	// Goals are ordered by id and include the deleted ones.
	Goals []goal.Goal `json:"goals,omitzero"`
	// Funnels are ordered by id.
	Funnels []funnel.Funnel `json:"funnels,omitzero"`
	Share   *Share          `json:"share,omitzero"`
}

// Has reports whether a part is present; an empty list is present.
func (p *AppParts) Has(part AppPart) bool {
	switch part {
	case AppGoals:
		return p.Goals != nil
	case AppFunnels:
		return p.Funnels != nil
	case AppShare:
		return p.Share != nil
	}
	return true
}
