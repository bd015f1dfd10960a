package svc

// AppPart names something that an application's actor keeps beside the settings; a request that
// needs it reads it together with them, by one question.
type AppPart string

// The parts; a request that needs none of them names none.
const (
	AppGoals   AppPart = "goals"
	AppFunnels AppPart = "funnels"
	AppShare   AppPart = "share"
)

// AppPartNames lists the parts.
func AppPartNames() []AppPart { return []AppPart{AppGoals, AppFunnels, AppShare} }

// AppParts holds the part of an application that was asked for; the others are nil.
type AppParts struct {
	// Goals are ordered by id, the deleted ones among them.
	Goals []Goal `json:"goals,omitzero"`
	// Funnels are ordered by id.
	Funnels []Funnel `json:"funnels,omitzero"`
	Share   *Share   `json:"share,omitzero"`
}

// Has reports whether a part is there; an empty list is.
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
