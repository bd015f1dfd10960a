package apps

import (
	"maps"
	"slices"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/actors/identity"
	"svc/domain"
	"svc/domain/annotation"
)

// kindAnnotation is the kind of the entities that hold annotations.
const kindAnnotation = "annotation"

type (
	putAnnotation struct {
		ID    string             `json:"id"`
		New   bool               `json:"new"`
		Patch annotation.Patch   `json:"patch"`
		By    domain.LedgerActor `json:"by"`
	}
	findAnnotation struct {
		ID string `json:"id"`
	}
	putExclusions struct {
		Exclusions domain.Exclusions `json:"exclusions"`
		// Before is the time of the last change to the rules on which the new ones are based.
		Before time.Time `json:"before,omitzero"`
	}
)

// The methods of the application actor about annotations and exclusions.
var (
	applicationAnnotations      = grain.On(applicationKind, "annotations", (*application).onAnnotations, grain.Repeatable)
	applicationPutAnnotation    = grain.On(applicationKind, "annotation.put", (*application).onPutAnnotation)
	applicationDeleteAnnotation = grain.On(applicationKind, "annotation.delete", (*application).onDeleteAnnotation)
	applicationPutExclusions    = grain.On(applicationKind, "exclusions.put", (*application).onPutExclusions)
)

func (a *application) onAnnotations(time.Time, grain.None) (grain.Outcome[[]annotation.Annotation], error) {
	all := slices.AppendSeq([]annotation.Annotation{}, maps.Values(a.annotations))
	slices.SortFunc(all, func(x, y annotation.Annotation) int { return strings.Compare(x.ID, y.ID) })
	return grain.Answer(all), nil
}

func (a *application) onPutAnnotation(now time.Time, m putAnnotation) (grain.Outcome[annotation.Annotation], error) {
	mark, known := a.annotations[m.ID]
	switch {
	case !known && !m.New:
		return grain.Outcome[annotation.Annotation]{}, domain.NotFound("annotation")
	case !known && len(a.annotations) >= annotation.MaxAnnotations:
		return grain.Outcome[annotation.Annotation]{}, &domain.Error{Code: domain.CodeConflict, Reason: "limit_reached", Message: "The application has as many annotations as it may have; delete one first."}
	case !known:
		mark = annotation.Annotation{ID: m.ID, Spec: annotation.Spec{Kind: annotation.Note, At: now}, CreatedAt: now, CreatedBy: m.By}
	}
	mark.Spec, mark.UpdatedAt = mark.With(m.Patch), now
	if problems := mark.Validate(); len(problems) > 0 {
		return grain.Outcome[annotation.Annotation]{}, domain.Invalid(problems...)
	}
	a.annotations[m.ID] = mark
	return grain.Answer(mark, grain.Put(kindAnnotation, m.ID, mark)), nil
}

func (a *application) onDeleteAnnotation(_ time.Time, m findAnnotation) (grain.Outcome[grain.None], error) {
	if _, known := a.annotations[m.ID]; !known {
		return grain.Outcome[grain.None]{}, domain.NotFound("annotation")
	}
	delete(a.annotations, m.ID)
	return grain.Answer(grain.None{}, grain.Delete(kindAnnotation, m.ID)), nil
}

// onPutExclusions replaces the rules for excluded traffic. It fails with conflict if they have changed since they were
// read.
func (a *application) onPutExclusions(now time.Time, m putExclusions) (grain.Outcome[domain.Exclusions], error) {
	app := a.app.Whole()
	if !app.Exclusions.UpdatedAt.Equal(m.Before) {
		return grain.Outcome[domain.Exclusions]{}, &domain.Error{Code: domain.CodeConflict, Reason: "changed", Message: "The exclusions have changed meanwhile; read them again."}
	}
	app.Exclusions, app.UpdatedAt = m.Exclusions, now
	app.Revision++
	record := identity.RecordApp(app)
	a.app = &record
	return changedApp(a, m.Exclusions, grain.Put("application", record.ID, record)), nil
}
