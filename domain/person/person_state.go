package person

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/segment"
)

// State holds the decisions of members of the organization about a person. Each part carries the time of its
// decision, so that the states of two people can be joined in any order.
type State struct {
	// Stage is empty if the lifecycle rules decide.
	Stage     segment.LifecycleStage `json:"stage,omitempty"`
	StageAtMs int64                  `json:"stageAt,omitempty"`
	Tags      map[string]TagMark     `json:"tags,omitempty"`
	CRM       map[string]FieldMark   `json:"crm,omitempty"`
}

// TagMark says whether a person has a tag.
type TagMark struct {
	On   bool  `json:"on"`
	AtMs int64 `json:"at"`
}

// FieldMark is the value of a field as JSON, null if the field was removed.
type FieldMark struct {
	Value json.RawMessage `json:"value"`
	AtMs  int64           `json:"at"`
}

// Limits of the decisions about a person.
const (
	MaxPersonTags     = 32
	MaxPersonTagBytes = 64
	MaxCRMFields      = 64
	MaxCRMBytes       = 2048
	// maxMarks limits the stored marks of removed tags and fields.
	maxMarks = 256
)

// Join returns the state of a person made from two. For each part the later decision holds; at the same instant, the
// greater value.
func (s State) Join(other State) State {
	out := State{Stage: s.Stage, StageAtMs: s.StageAtMs, Tags: maps.Clone(s.Tags), CRM: maps.Clone(s.CRM)}
	if other.StageAtMs > s.StageAtMs || other.StageAtMs == s.StageAtMs && other.Stage > s.Stage {
		out.Stage, out.StageAtMs = other.Stage, other.StageAtMs
	}
	for tag, mark := range other.Tags {
		if old, marked := out.Tags[tag]; !marked || mark.AtMs > old.AtMs || mark.AtMs == old.AtMs && mark.On {
			out.mark(tag, mark)
		}
	}
	for name, field := range other.CRM {
		old, marked := out.CRM[name]
		if !marked || field.AtMs > old.AtMs || field.AtMs == old.AtMs && bytes.Compare(field.Value, old.Value) > 0 {
			out.field(name, field)
		}
	}
	return out
}

func (s *State) mark(tag string, mark TagMark) {
	if s.Tags == nil {
		s.Tags = map[string]TagMark{}
	}
	s.Tags[tag] = mark
}

func (s *State) field(name string, field FieldMark) {
	if s.CRM == nil {
		s.CRM = map[string]FieldMark{}
	}
	s.CRM[name] = field
}

// TagList returns the tags, sorted.
func (s State) TagList() []string {
	tags := []string{}
	for tag, mark := range s.Tags {
		if mark.On {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags[:min(len(tags), MaxPersonTags)]
}

// Fields returns the fields of the CRM.
func (s State) Fields() map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	for name, field := range s.CRM {
		if !isNull(field.Value) {
			fields[name] = field.Value
		}
	}
	return fields
}

func isNull(value json.RawMessage) bool {
	return len(value) == 0 || string(bytes.TrimSpace(value)) == "null"
}

// Patch is a change of the decisions about a person; nil fields are unchanged.
type Patch struct {
	// Stage is empty to let the lifecycle rules decide again.
	Stage *segment.LifecycleStage `json:"stage,omitempty"`
	// Tags replaces all tags.
	Tags *[]string `json:"tags,omitempty"`
	// CRM changes the named fields; null removes one.
	CRM map[string]json.RawMessage `json:"crm,omitempty"`
}

// Normalise trims, sorts and cuts the tags.
func (p *Patch) Normalise() {
	if p.Tags == nil {
		return
	}
	tags := []string{}
	for _, tag := range *p.Tags {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	tags = slices.Compact(tags)
	tags = tags[:min(len(tags), MaxPersonTags)]
	p.Tags = &tags
}

// Validate returns the problems of a change.
func (p *Patch) Validate() (problems []domain.FieldError) {
	if p.Stage == nil && p.Tags == nil && p.CRM == nil {
		problems = append(problems, domain.FieldError{Field: "", Code: "empty_body", Message: "The body changes nothing; give stage, tags or crm."})
	}
	if p.Stage != nil && *p.Stage != "" && !slices.Contains(segment.LifecycleStages(), *p.Stage) {
		allowed := make([]string, 0, len(segment.LifecycleStages()))
		for _, stage := range segment.LifecycleStages() {
			allowed = append(allowed, string(stage))
		}
		problems = append(problems, domain.FieldError{Field: "stage", Code: "unknown_stage", Message: fmt.Sprintf("Unknown stage %q.", *p.Stage), Allowed: allowed})
	}
	if p.Tags != nil {
		for i, tag := range *p.Tags {
			if len(strings.TrimSpace(tag)) > MaxPersonTagBytes || !utf8.ValidString(tag) {
				problems = append(problems, domain.FieldError{Field: fmt.Sprintf("tags[%d]", i), Code: "too_long", Message: fmt.Sprintf("A tag has at most %d bytes.", MaxPersonTagBytes)})
			}
		}
	}
	if len(p.CRM) > MaxCRMFields {
		problems = append(problems, domain.FieldError{Field: "crm", Code: "too_many", Message: fmt.Sprintf("crm has at most %d fields.", MaxCRMFields)})
	}
	for _, name := range slices.Sorted(maps.Keys(p.CRM)) {
		if name == "" || len(name) > MaxPersonTagBytes || len(p.CRM[name]) > MaxCRMBytes {
			problems = append(problems, domain.FieldError{Field: "crm." + name, Code: "too_long", Message: fmt.Sprintf("A field of crm has a name of 1 to %d bytes and a value of at most %d.", MaxPersonTagBytes, MaxCRMBytes)})
		}
	}
	return problems
}

// Apply applies a valid patch and returns the new state and the names of the changed parts. It fails if there would be
// too many fields.
func (s State) Apply(patch Patch, now time.Time) (State, []string, error) {
	out, changed, at := s.Join(State{}), []string{}, s.after(now)
	if patch.Stage != nil && *patch.Stage != s.Stage {
		out.Stage, out.StageAtMs = *patch.Stage, at
		changed = append(changed, "stage")
	}
	if patch.Tags != nil && !slices.Equal(*patch.Tags, s.TagList()) {
		for _, tag := range s.TagList() {
			out.mark(tag, TagMark{AtMs: at})
		}
		for _, tag := range *patch.Tags {
			out.mark(tag, TagMark{On: true, AtMs: at})
		}
		changed = append(changed, "tags")
	}
	before := s.Fields()
	for name, value := range patch.CRM {
		if isNull(value) && before[name] == nil || bytes.Equal(value, before[name]) {
			continue
		}
		out.field(name, FieldMark{Value: value, AtMs: at})
		if !slices.Contains(changed, "crm") {
			changed = append(changed, "crm")
		}
	}
	if len(out.Fields()) > MaxCRMFields {
		return s, nil, domain.Invalid(domain.FieldError{Field: "crm", Code: "too_many", Message: fmt.Sprintf("A person has at most %d fields of crm.", MaxCRMFields)})
	}
	out.forget()
	return out, changed, nil
}

// after returns an instant later than every decision, so that a slow clock loses no decision.
func (s State) after(now time.Time) int64 {
	at := max(now.UnixMilli(), s.StageAtMs+1)
	for _, mark := range s.Tags {
		at = max(at, mark.AtMs+1)
	}
	for _, field := range s.CRM {
		at = max(at, field.AtMs+1)
	}
	return at
}

// forget drops the oldest marks of removed parts beyond the limit.
func (s *State) forget() {
	type gone struct {
		name string
		at   int64
	}
	var tags, fields []gone
	for tag, mark := range s.Tags {
		if !mark.On {
			tags = append(tags, gone{name: tag, at: mark.AtMs})
		}
	}
	for name, field := range s.CRM {
		if isNull(field.Value) {
			fields = append(fields, gone{name: name, at: field.AtMs})
		}
	}
	older := func(a, b gone) int { return int(a.at - b.at) }
	slices.SortFunc(tags, older)
	slices.SortFunc(fields, older)
	for _, tag := range tags[:max(0, len(tags)-maxMarks)] {
		delete(s.Tags, tag.name)
	}
	for _, field := range fields[:max(0, len(fields)-maxMarks)] {
		delete(s.CRM, field.name)
	}
}
