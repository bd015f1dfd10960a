package person

import (
	"cmp"
	"encoding/json"
	"slices"

	"svc/domain"
)

// Mask hides the data that names or locates a person from callers without people.pii.read.
func (p *Person) Mask() {
	p.Email, p.Name = domain.MaskText(p.Email), domain.MaskText(p.Name)
	p.DistinctID, p.Company = domain.MaskShapes(p.DistinctID), domain.MaskShapes(p.Company)
	for i := range p.DistinctIDs {
		p.DistinctIDs[i] = domain.MaskShapes(p.DistinctIDs[i])
	}
	for _, touch := range []*Touch{&p.First, &p.Last} {
		for _, word := range []*string{&touch.Source, &touch.Medium, &touch.Campaign, &touch.Referrer, &touch.URL} {
			*word = domain.MaskShapes(*word)
		}
	}
	for name, value := range p.Traits {
		p.Traits[name] = domain.MaskTrait(name, value)
	}
	p.State = p.State.Masked()
}

// minWord is the length that a text needs to be distinguishable from other words, in bytes.
const minWord = 4

// PersonalWords returns the texts that name or locate the person: the masked texts that are long enough to be
// distinguished from other words.
func (p *Person) PersonalWords() []string {
	words := []string{p.Email, p.Name}
	collect := func(name string, value json.RawMessage) {
		var decoded any
		if json.Unmarshal(value, &decoded) == nil {
			words = append(words, personalTexts(decoded, domain.IsPersonal(name))...)
		}
	}
	for name, value := range p.Traits {
		collect(name, value)
	}
	for name, field := range p.State.CRM {
		collect(name, field.Value)
	}
	words = slices.DeleteFunc(words, func(word string) bool { return len(word) < minWord })
	// Longer words come first, because they may contain shorter ones.
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(words)
}

// personalTexts returns the texts of the personal members of a value.
func personalTexts(value any, personal bool) (texts []string) {
	switch value := value.(type) {
	case string:
		if personal {
			texts = append(texts, value)
		}
	case []any:
		for _, inner := range value {
			texts = append(texts, personalTexts(inner, personal)...)
		}
	case map[string]any:
		for name, inner := range value {
			texts = append(texts, personalTexts(inner, personal || domain.IsPersonal(name))...)
		}
	}
	return texts
}

// Masked returns the state as callers without people.pii.read see it.
func (s State) Masked() State {
	masked := State{Stage: s.Stage, StageAtMs: s.StageAtMs}
	for tag, mark := range s.Tags {
		masked.mark(domain.MaskShapes(tag), mark)
	}
	for name, field := range s.CRM {
		masked.field(name, FieldMark{Value: domain.MaskTrait(name, field.Value), AtMs: field.AtMs})
	}
	return masked
}

// AllWords returns the texts that identify the person: the personal ones and the distinct ids.
func (p *Person) AllWords() []string {
	words := p.PersonalWords()
	for _, id := range p.DistinctIDs {
		if len(id) >= minWord && !slices.Contains(words, id) {
			words = append(words, id)
		}
	}
	return words
}
