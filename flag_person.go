package svc

// FlagPerson holds what a node knows of a person, by the fields of conditions. It never changes.
type FlagPerson struct {
	Values map[string]FlagValue
	// NoSegments says that the segments of the person are not known.
	NoSegments bool
}

// lacks reports whether a field of the person is not known.
func (p *FlagPerson) lacks(field string) bool {
	return p == nil || p.NoSegments && field == fieldSegment
}

// FlagPersonOf returns what conditions may ask about a person.
func FlagPersonOf(p *Person) *FlagPerson {
	stage, _ := p.Stage()
	known := &FlagPerson{Values: map[string]FlagValue{
		fieldStage: TextFlagValue(string(stage)), fieldTag: ListFlagValue(p.State.TagList()),
		"sessions": NumberFlagValue(float64(p.Sessions)), "events": NumberFlagValue(float64(p.Events)),
		"first_seen_at": NumberFlagValue(float64(p.FirstSeenAt.UnixMilli())), "last_seen_at": NumberFlagValue(float64(p.LastSeenAt.UnixMilli())),
	}}
	for field, text := range map[string]string{
		fieldCompany: p.Company, "first_source": p.First.Source, "country": p.Place.Country, "region": p.Place.Region, "city": p.Place.City,
		"device": p.Place.Device, "browser": p.Place.Browser, "os": p.Place.OS, traitPrefix + "email": p.Email, traitPrefix + "name": p.Name,
	} {
		if text != "" {
			known.Values[field] = TextFlagValue(text)
		}
	}
	for key, raw := range p.Traits {
		known.Values[traitPrefix+key] = JSONFlagValue(raw)
	}
	return known
}
