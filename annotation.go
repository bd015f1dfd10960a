package svc

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// AnnotationKind is the subject of a mark on the time axis.
type AnnotationKind string

// The kinds.
const (
	AnnotationNote     AnnotationKind = "note"
	AnnotationCampaign AnnotationKind = "campaign"
	AnnotationRelease  AnnotationKind = "release"
)

// Values lists the kinds.
func (AnnotationKind) Values() []AnnotationKind {
	return []AnnotationKind{AnnotationNote, AnnotationCampaign, AnnotationRelease}
}

// Limits of annotations.
const (
	MaxAnnotations     = 1000
	MaxAnnotationTitle = 200  // bytes
	MaxAnnotationText  = 2000 // bytes
)

// AnnotationSpec describes a mark on the time axis.
type AnnotationSpec struct {
	Kind  AnnotationKind `json:"kind"`
	At    time.Time      `json:"at"`
	Title string         `json:"title"`
	Text  string         `json:"text,omitempty"`
	// Environment is empty if the mark concerns all environments.
	Environment string `json:"environment,omitempty"`
}

// AnnotationPatch holds the fields of a request; nil fields keep their values.
type AnnotationPatch struct {
	Kind        *AnnotationKind `json:"kind,omitempty"`
	At          *time.Time      `json:"at,omitempty"`
	Title       *string         `json:"title,omitempty"`
	Text        *string         `json:"text,omitempty"`
	Environment *string         `json:"environment,omitempty"`
}

// With returns the specification with the fields of a patch.
func (s AnnotationSpec) With(p AnnotationPatch) AnnotationSpec {
	assign(&s.Kind, p.Kind)
	assign(&s.At, p.At)
	assign(&s.Title, p.Title)
	assign(&s.Text, p.Text)
	assign(&s.Environment, p.Environment)
	s.Title, s.At = strings.TrimSpace(s.Title), s.At.UTC().Truncate(time.Millisecond)
	return s
}

// Validate returns every problem of the specification, none if it is valid.
func (s *AnnotationSpec) Validate() (problems []FieldError) {
	if !slices.Contains(s.Kind.Values(), s.Kind) {
		problems = append(problems, FieldError{Field: "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", s.Kind), Allowed: words(s.Kind.Values())})
	}
	if s.Title == "" || len(s.Title) > MaxAnnotationTitle {
		problems = append(problems, FieldError{Field: "title", Code: "invalid_value", Message: fmt.Sprintf("A title has 1 to %d bytes.", MaxAnnotationTitle)})
	}
	if len(s.Text) > MaxAnnotationText {
		problems = append(problems, FieldError{Field: "text", Code: "too_long", Message: fmt.Sprintf("The text is longer than %d bytes.", MaxAnnotationText)})
	}
	return problems
}

// Annotation is a mark on the time axis of an application.
type Annotation struct {
	ID string `json:"id"`
	AnnotationSpec
	// Automatic says that the service made the mark for an announced release.
	Automatic bool        `json:"automatic,omitempty"`
	CreatedAt time.Time   `json:"createdAt"`
	UpdatedAt time.Time   `json:"updatedAt"`
	CreatedBy LedgerActor `json:"createdBy"`
}

// Within reports whether the mark lies in a window, including its end, and concerns an environment.
func (a *Annotation) Within(w Window, environment string) bool {
	return !a.At.Before(w.From) && !a.At.After(w.To) && (a.Environment == "" || a.Environment == environment)
}
