package funnel

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/goal"
)

// Limits of funnels (Limits: funnel steps; contract 43).
const (
	MaxFunnels         = 200 // per application
	MinFunnelSteps     = 2
	MaxFunnelSteps     = 12
	MaxWindowHours     = 2160 // 90 days
	DefaultWindowHours = 168  // 7 days
	MaxStepFilters     = 20

	// MaxFunnelValues limits the values in a breakdown of a funnel's results.
	MaxFunnelValues = 25
	// MaxDropOffs limits the list of people that dropped off at a step.
	MaxDropOffs = 5000
)

// Step is one step: an event that matches and passes every filter.
type Step struct {
	goal.Matcher
	Filters []filter.StepFilter `json:"filters"`
}

// Spec describes a new funnel.
type Spec struct {
	Name  string
	Steps []Step
	// WindowHours limits the time from an attempt's first step to its last.
	WindowHours int
}

// Validate returns every problem of the specification, none if it is valid.
func (s Spec) Validate() []domain.FieldError {
	problems := domain.ValidateName(s.Name)
	if len(s.Steps) < MinFunnelSteps || len(s.Steps) > MaxFunnelSteps {
		problems = append(problems, domain.FieldError{
			Field: "steps", Code: "out_of_range",
			Message: fmt.Sprintf("A funnel has %d to %d steps, not %d.", MinFunnelSteps, MaxFunnelSteps, len(s.Steps)),
		})
	}
	for i, step := range s.Steps[:min(len(s.Steps), MaxFunnelSteps)] {
		prefix := fmt.Sprintf("steps[%d].", i)
		problems = append(problems, step.ValidateIn(prefix)...)
		if len(step.Filters) > MaxStepFilters {
			problems = append(problems, domain.FieldError{
				Field: prefix + "filters", Code: "out_of_range", Message: fmt.Sprintf("A step has at most %d filters.", MaxStepFilters),
			})
		}
		for j, filter := range step.Filters[:min(len(step.Filters), MaxStepFilters)] {
			problems = append(problems, filter.ValidateIn(fmt.Sprintf("%sfilters[%d].", prefix, j))...)
		}
	}
	if s.WindowHours < 1 || s.WindowHours > MaxWindowHours {
		problems = append(problems, domain.FieldError{
			Field: "windowHours", Code: "out_of_range",
			Message: fmt.Sprintf("The windowHours must be 1 to %d, not %d.", MaxWindowHours, s.WindowHours),
		})
	}
	return problems
}

// Funnel is an ordered list of steps that persons are expected to take.
type Funnel struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Steps       []Step    `json:"steps"`
	WindowHours int       `json:"windowHours"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
}

// NewFunnel builds the funnel of a valid specification.
func NewFunnel(spec Spec, id string, now time.Time) Funnel {
	return Funnel{
		ID: id, Name: strings.TrimSpace(spec.Name), Steps: spec.Steps, WindowHours: spec.WindowHours, CreatedAt: now, UpdatedAt: now,
	}
}

// Change returns the funnel with a new valid specification.
func (f Funnel) Change(spec Spec, now time.Time) Funnel {
	changed := NewFunnel(spec, f.ID, now)
	changed.CreatedAt = f.CreatedAt
	return changed
}

// CheckNewFunnel fails with conflict if an application already has MaxFunnels funnels.
func CheckNewFunnel(present int) error {
	if present >= MaxFunnels {
		return &domain.Error{Code: domain.CodeConflict, Reason: "limit_reached", Message: fmt.Sprintf("The application has %d funnels already; delete one first.", MaxFunnels)}
	}
	return nil
}

// Window returns the time after an attempt's first step within which the other steps must happen.
func (f *Funnel) Window() time.Duration { return time.Duration(f.WindowHours) * time.Hour }

// Filtered reports whether any step reads more than the kind and match of events, which makes the funnel's results a
// filtered read.
func (f *Funnel) Filtered() bool {
	for _, step := range f.Steps {
		if len(step.Filters) > 0 {
			return true
		}
	}
	return false
}

// Row is one step of a funnel's results. Converted and DropOff add up to Entered,
// and Converted is Entered of the row that follows.
type Row struct {
	// Step counts from 1; Name is the event or path that the step matches.
	Step int
	Name string
	// Entered counts the persons that took the step, Converted the persons among them that took the next one. A person
	// that took the last step has converted.
	Entered   uint64
	Converted uint64
	DropOff   uint64
	// ConversionRate is Converted / Entered, 0..1; 0 if Entered is 0.
	ConversionRate float64
	// MedianSeconds is the median time from the previous step to this one over the persons that entered. It is nil for
	// the first step and if Entered is 0.
	MedianSeconds *float64
}

// Result is the result of a funnel for the persons that entered it in a window.
type Result struct {
	Rows   []Row
	Capped bool
	// Values are the results by the values of a dimension, ordered by entered persons, the most first, at most
	// MaxFunnelValues. It is nil if no dimension was requested.
	Values []Value
}

// Split requests the results of a funnel by values of a dimension. The value of a person is the value of the
// first event in the window that takes the first step.
type Split struct {
	// Dimension is one of Dimensions, or property.<key>.
	Dimension filter.Dimension
	// Masked says that the caller may not see e-mail-like values, as in analytics.BreakdownQuery.
	Masked bool
	// Fields are the additional personal names of the application.
	Fields domain.PersonalFields
}

// Scans reports whether the split reads the properties of events, which makes it a filtered read.
func (s Split) Scans() bool {
	_, isProperty := s.Dimension.Property()
	return isProperty
}

// Value is the result of a funnel for the persons of one value; the value is empty for events without one.
type Value struct {
	Value string
	Rows  []Row
}

// Dimensions lists the dimensions of single events, by which a funnel can be broken down.
func Dimensions() []filter.Dimension {
	return slices.DeleteFunc(filter.Dimensions(), func(d filter.Dimension) bool { return d == filter.DimEntryPath || d == filter.DimExitPath })
}

// ParseFunnelDimension parses the dimension of a funnel's breakdown; empty if the request names none.
func ParseFunnelDimension(word string) (filter.Dimension, *domain.FieldError) {
	if word == "" {
		return "", nil
	}
	dimension, problem := filter.ParseBreakdownDimension(word)
	if _, isProperty := dimension.Property(); problem == nil && (isProperty || slices.Contains(Dimensions(), dimension)) {
		return dimension, nil
	}
	if problem == nil || len(problem.Allowed) > 0 {
		unknown := filter.UnknownDimension("breakdown", word)
		unknown.Allowed = append(domain.Texts(Dimensions()), filter.PropertyPrefix+"<key>")
		return "", &unknown
	}
	problem.Field = "breakdown"
	return "", problem
}

// Personal reports whether a list of the people of the funnel would reveal data that is masked for callers without
// people.pii.read, as a definition of a segment would.
func (f *Funnel) Personal() bool {
	for _, step := range f.Steps {
		if slices.ContainsFunc(step.Filters, filter.StepFilter.Personal) {
			return true
		}
	}
	return false
}

// Takes reports whether an event takes the step. Stores implement the same definition.
func (s *Step) Takes(e *event.Event) bool {
	return s.Matches(e.Name, e.Path) && !slices.ContainsFunc(s.Filters, func(f filter.StepFilter) bool { return !f.Passes(e) })
}
