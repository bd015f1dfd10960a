package svc

// Mask hides what names or reaches a person from callers without people.pii.read.
func (p *Person) Mask() {
	p.Email, p.Name = MaskText(p.Email), MaskText(p.Name)
	p.DistinctID, p.Company = MaskEmails(p.DistinctID), MaskEmails(p.Company)
	for i := range p.DistinctIDs {
		p.DistinctIDs[i] = MaskEmails(p.DistinctIDs[i])
	}
	for _, touch := range []*Touch{&p.First, &p.Last} {
		for _, word := range []*string{&touch.Source, &touch.Medium, &touch.Campaign, &touch.Referrer, &touch.URL} {
			*word = MaskEmails(*word)
		}
	}
	for name, value := range p.Traits {
		p.Traits[name] = maskTrait(name, value)
	}
	p.State = p.State.Masked()
}

// Masked returns the state as callers without people.pii.read see it.
func (s PersonState) Masked() PersonState {
	masked := PersonState{Stage: s.Stage, StageAtMs: s.StageAtMs}
	for tag, mark := range s.Tags {
		masked.mark(MaskEmails(tag), mark)
	}
	for name, field := range s.CRM {
		masked.field(name, FieldMark{Value: maskTrait(name, field.Value), AtMs: field.AtMs})
	}
	return masked
}
