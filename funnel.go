package svc

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of funnels (Limits: funnel steps; contract 43).
const (
	MaxFunnels         = 200 // per application
	MinFunnelSteps     = 2
	MaxFunnelSteps     = 12
	MaxWindowHours     = 2160 // 90 days
	DefaultWindowHours = 168  // 7 days
	MaxStepFilters     = 20
	// MaxFilterValues limits the list of an in filter.
	MaxFilterValues = 100
	// MaxFilterValueBytes limits each value of a filter.
	MaxFilterValueBytes = 1024
	// MaxFunnelValues limits the values in a breakdown of a funnel's results.
	MaxFunnelValues = 25
	// MaxDropOffs limits the list of people that dropped off at a step.
	MaxDropOffs = 5000
)

// FunnelStep is one step: an event that matches and passes every filter.
type FunnelStep struct {
	Matcher
	Filters []StepFilter `json:"filters"`
}

// FunnelSpec describes a new funnel.
type FunnelSpec struct {
	Name  string
	Steps []FunnelStep
	// WindowHours limits the time from an attempt's first step to its last.
	WindowHours int
}

// Validate returns every problem of the specification, none if it is valid.
func (s FunnelSpec) Validate() []FieldError {
	problems := validateName(s.Name)
	if len(s.Steps) < MinFunnelSteps || len(s.Steps) > MaxFunnelSteps {
		problems = append(problems, FieldError{
			Field: "steps", Code: "out_of_range",
			Message: fmt.Sprintf("A funnel has %d to %d steps, not %d.", MinFunnelSteps, MaxFunnelSteps, len(s.Steps)),
		})
	}
	for i, step := range s.Steps[:min(len(s.Steps), MaxFunnelSteps)] {
		prefix := fmt.Sprintf("steps[%d].", i)
		problems = append(problems, step.validate(prefix)...)
		if len(step.Filters) > MaxStepFilters {
			problems = append(problems, FieldError{
				Field: prefix + "filters", Code: "out_of_range", Message: fmt.Sprintf("A step has at most %d filters.", MaxStepFilters),
			})
		}
		for j, filter := range step.Filters[:min(len(step.Filters), MaxStepFilters)] {
			problems = append(problems, filter.validate(fmt.Sprintf("%sfilters[%d].", prefix, j))...)
		}
	}
	if s.WindowHours < 1 || s.WindowHours > MaxWindowHours {
		problems = append(problems, FieldError{
			Field: "windowHours", Code: "out_of_range",
			Message: fmt.Sprintf("The windowHours must be 1 to %d, not %d.", MaxWindowHours, s.WindowHours),
		})
	}
	return problems
}

// Funnel is an ordered list of steps that persons are expected to take.
type Funnel struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Steps       []FunnelStep `json:"steps"`
	WindowHours int          `json:"windowHours"`
	CreatedAt   time.Time    `json:"createdAt"`
	UpdatedAt   time.Time    `json:"updatedAt"`
}

// NewFunnel builds the funnel of a valid specification.
func NewFunnel(spec FunnelSpec, id string, now time.Time) Funnel {
	return Funnel{
		ID: id, Name: strings.TrimSpace(spec.Name), Steps: spec.Steps, WindowHours: spec.WindowHours, CreatedAt: now, UpdatedAt: now,
	}
}

// Change returns the funnel with a new valid specification.
func (f Funnel) Change(spec FunnelSpec, now time.Time) Funnel {
	changed := NewFunnel(spec, f.ID, now)
	changed.CreatedAt = f.CreatedAt
	return changed
}

// CheckNewFunnel fails with conflict if an application already has MaxFunnels funnels.
func CheckNewFunnel(present int) error {
	if present >= MaxFunnels {
		return &Error{Code: CodeConflict, Reason: "limit_reached", Message: fmt.Sprintf("The application has %d funnels already; delete one first.", MaxFunnels)}
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

// FunnelRow is one step of a funnel's results. Converted and DropOff add up to Entered,
// and Converted is Entered of the row that follows.
type FunnelRow struct {
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

// FunnelResult is the result of a funnel for the persons that entered it in a window.
type FunnelResult struct {
	Rows   []FunnelRow
	Capped bool
	// Values are the results by the values of a dimension, ordered by entered persons, the most first, at most
	// MaxFunnelValues. It is nil if no dimension was requested.
	Values []FunnelValue
}

// FunnelSplit requests the results of a funnel by values of a dimension. The value of a person is the value of the
// first event in the window that takes the first step.
type FunnelSplit struct {
	// Dimension is one of FunnelDimensions, or property.<key>.
	Dimension Dimension
	// Masked says that the caller may not see e-mail-like values, as in BreakdownQuery.
	Masked bool
	// Fields are the additional personal names of the application.
	Fields PersonalFields
}

// Scans reports whether the split reads the properties of events, which makes it a filtered read.
func (s FunnelSplit) Scans() bool {
	_, isProperty := s.Dimension.Property()
	return isProperty
}

// FunnelValue is the result of a funnel for the persons of one value; the value is empty for events without one.
type FunnelValue struct {
	Value string
	Rows  []FunnelRow
}

// FunnelDimensions lists the dimensions of single events, by which a funnel can be broken down.
func FunnelDimensions() []Dimension {
	return slices.DeleteFunc(Dimensions(), func(d Dimension) bool { return d == DimEntryPath || d == DimExitPath })
}

// ParseFunnelDimension parses the dimension of a funnel's breakdown; empty if the request names none.
func ParseFunnelDimension(word string) (Dimension, *FieldError) {
	if word == "" {
		return "", nil
	}
	dimension, problem := ParseBreakdownDimension(word)
	if _, isProperty := dimension.Property(); problem == nil && (isProperty || slices.Contains(FunnelDimensions(), dimension)) {
		return dimension, nil
	}
	if problem == nil || len(problem.Allowed) > 0 {
		unknown := UnknownDimension("breakdown", word)
		unknown.Allowed = append(words(FunnelDimensions()), PropertyPrefix+"<key>")
		return "", &unknown
	}
	problem.Field = "breakdown"
	return "", problem
}
