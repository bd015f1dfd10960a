package apps

import (
	"maps"
	"slices"
	"strings"
	"time"

	"svc"
	"svc/actors/grain"
	"svc/actors/identity"
)

// kindAnnotation is the kind of the entities that hold annotations.
const kindAnnotation = "annotation"

type (
	putAnnotation struct {
		ID    string              `json:"id"`
		New   bool                `json:"new"`
		Patch svc.AnnotationPatch `json:"patch"`
		By    svc.LedgerActor     `json:"by"`
	}
	findAnnotation struct {
		ID string `json:"id"`
	}
	putExclusions struct {
		Exclusions svc.Exclusions `json:"exclusions"`
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

func (a *application) onAnnotations(time.Time, grain.None) (grain.Outcome[[]svc.Annotation], error) {
	all := slices.AppendSeq([]svc.Annotation{}, maps.Values(a.annotations))
	slices.SortFunc(all, func(x, y svc.Annotation) int { return strings.Compare(x.ID, y.ID) })
	return grain.Answer(all), nil
}

func (a *application) onPutAnnotation(now time.Time, m putAnnotation) (grain.Outcome[svc.Annotation], error) {
	mark, known := a.annotations[m.ID]
	switch {
	case !known && !m.New:
		return grain.Outcome[svc.Annotation]{}, svc.NotFound("annotation")
	case !known && len(a.annotations) >= svc.MaxAnnotations:
		return grain.Outcome[svc.Annotation]{}, &svc.Error{Code: svc.CodeConflict, Reason: "limit_reached", Message: "The application has as many annotations as it may have; delete one first."}
	case !known:
		mark = svc.Annotation{ID: m.ID, AnnotationSpec: svc.AnnotationSpec{Kind: svc.AnnotationNote, At: now}, CreatedAt: now, CreatedBy: m.By}
	}
	mark.AnnotationSpec, mark.UpdatedAt = mark.With(m.Patch), now
	if problems := mark.Validate(); len(problems) > 0 {
		return grain.Outcome[svc.Annotation]{}, svc.Invalid(problems...)
	}
	a.annotations[m.ID] = mark
	return grain.Answer(mark, grain.Put(kindAnnotation, m.ID, mark)), nil
}

func (a *application) onDeleteAnnotation(_ time.Time, m findAnnotation) (grain.Outcome[grain.None], error) {
	if _, known := a.annotations[m.ID]; !known {
		return grain.Outcome[grain.None]{}, svc.NotFound("annotation")
	}
	delete(a.annotations, m.ID)
	return grain.Answer(grain.None{}, grain.Delete(kindAnnotation, m.ID)), nil
}

// onPutExclusions replaces the rules for excluded traffic. It fails with conflict if they have changed since they were
// read.
func (a *application) onPutExclusions(now time.Time, m putExclusions) (grain.Outcome[svc.Exclusions], error) {
	app := a.app.Whole()
	if !app.Exclusions.UpdatedAt.Equal(m.Before) {
		return grain.Outcome[svc.Exclusions]{}, &svc.Error{Code: svc.CodeConflict, Reason: "changed", Message: "The exclusions have changed meanwhile; read them again."}
	}
	app.Exclusions, app.UpdatedAt = m.Exclusions, now
	app.Revision++
	record := identity.RecordApp(app)
	a.app = &record
	return changedApp(a, m.Exclusions, grain.Put("application", record.ID, record)), nil
}
