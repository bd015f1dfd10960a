package annotation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// Kind is the subject of a mark on the time axis.
type Kind string

// The kinds.
const (
	Note     Kind = "note"
	Campaign Kind = "campaign"
	Release  Kind = "release"
)

// Values lists the kinds.
func (Kind) Values() []Kind {
	return []Kind{Note, Campaign, Release}
}

// Limits of annotations.
const (
	MaxAnnotations     = 1000
	MaxAnnotationTitle = 200  // bytes
	MaxAnnotationText  = 2000 // bytes
)

// Spec describes a mark on the time axis.
type Spec struct {
	Kind  Kind      `json:"kind"`
	At    time.Time `json:"at"`
	Title string    `json:"title"`
	Text  string    `json:"text,omitempty"`
	// Environment is empty if the mark concerns all environments.
	Environment string `json:"environment,omitempty"`
}

// Patch holds the fields of a request; nil fields keep their values.
type Patch struct {
	Kind        *Kind      `json:"kind,omitempty"`
	At          *time.Time `json:"at,omitempty"`
	Title       *string    `json:"title,omitempty"`
	Text        *string    `json:"text,omitempty"`
	Environment *string    `json:"environment,omitempty"`
}

// With returns the specification with the fields of a patch.
func (s Spec) With(p Patch) Spec {
	domain.Assign(&s.Kind, p.Kind)
	domain.Assign(&s.At, p.At)
	domain.Assign(&s.Title, p.Title)
	domain.Assign(&s.Text, p.Text)
	domain.Assign(&s.Environment, p.Environment)
	s.Title, s.At = strings.TrimSpace(s.Title), s.At.UTC().Truncate(time.Millisecond)
	return s
}

// Validate returns every problem of the specification, none if it is valid.
func (s *Spec) Validate() (problems []domain.FieldError) {
	if !slices.Contains(s.Kind.Values(), s.Kind) {
		problems = append(problems, domain.FieldError{Field: "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", s.Kind), Allowed: domain.Texts(s.Kind.Values())})
	}
	if s.Title == "" || len(s.Title) > MaxAnnotationTitle {
		problems = append(problems, domain.FieldError{Field: "title", Code: "invalid_value", Message: fmt.Sprintf("A title has 1 to %d bytes.", MaxAnnotationTitle)})
	}
	if len(s.Text) > MaxAnnotationText {
		problems = append(problems, domain.FieldError{Field: "text", Code: "too_long", Message: fmt.Sprintf("The text is longer than %d bytes.", MaxAnnotationText)})
	}
	return problems
}

// Annotation is a mark on the time axis of an application.
type Annotation struct {
	ID string `json:"id"`
	Spec
	// Automatic says that the service made the mark for an announced release.
	Automatic bool               `json:"automatic,omitempty"`
	CreatedAt time.Time          `json:"createdAt"`
	UpdatedAt time.Time          `json:"updatedAt"`
	CreatedBy domain.LedgerActor `json:"createdBy"`
}

// Within reports whether the mark lies in a window, including its end, and concerns an environment.
func (a *Annotation) Within(w domain.Window, environment string) bool {
	return !a.At.Before(w.From) && !a.At.After(w.To) && (a.Environment == "" || a.Environment == environment)
}
