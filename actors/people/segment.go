package people

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/segment"
)

// The segments actor.
//
//	identity   the id of an application
//	rank       2
//	owns       the segments of the application
//	persists   one entity segment for each
//	woken by   calls only
//	limits     segment.MaxSegments segments
//	stops      after 10 minutes without a message
//
// The people in a segment are read from stored rows on request and are not here.
const kindSegments = "segments"

type segments struct{ all map[string]segment.Segment }

type (
	createSegment struct {
		ID   string       `json:"id"`
		Spec segment.Spec `json:"spec"`
	}
	findSegment struct {
		ID string `json:"id"`
	}
)

var segmentsKind = grain.NewKind[*segments](kindSegments, 2, 10*time.Minute)

// The methods of the segments actor.
var (
	segmentsList    = grain.On(segmentsKind, "list", (*segments).onList, grain.Repeatable)
	segmentsCreate  = grain.On(segmentsKind, "create", (*segments).onCreate)
	segmentsReplace = grain.On(segmentsKind, "replace", (*segments).onReplace)
	segmentsDelete  = grain.On(segmentsKind, "delete", (*segments).onDelete)
)

func segmentsRow(node *grain.Node) cluster.Kind {
	return segmentsKind.Row(node, func(string) *segments { return &segments{} })
}

func (s *segments) Restore(entities []domain.Entity) error {
	var err error
	s.all, err = grain.DecodeAll[segment.Segment](entities)
	return err
}

func (s *segments) onList(time.Time, grain.None) (grain.Outcome[[]segment.Segment], error) {
	return grain.Answer(slices.SortedFunc(maps.Values(s.all), segment.Segment.Compare)), nil
}

func (s *segments) onCreate(now time.Time, m createSegment) (grain.Outcome[segment.Segment], error) {
	if made, found := s.all[m.ID]; found {
		return grain.Again(made), nil
	}
	if len(s.all) >= segment.MaxSegments {
		return grain.Outcome[segment.Segment]{}, &domain.Error{
			Code: domain.CodeConflict, Reason: "limit_reached", Message: fmt.Sprintf("The application has %d segments already; delete one first.", segment.MaxSegments),
		}
	}
	return s.keep(segment.NewSegment(m.Spec, m.ID, now)), nil
}

func (s *segments) onReplace(now time.Time, m createSegment) (grain.Outcome[segment.Segment], error) {
	seg, found := s.all[m.ID]
	if !found {
		return grain.Outcome[segment.Segment]{}, domain.NotFound("segment")
	}
	return s.keep(seg.Replace(m.Spec, now)), nil
}

// keep saves a segment.
func (s *segments) keep(segment segment.Segment) grain.Outcome[segment.Segment] {
	s.all[segment.ID] = segment
	return grain.Answer(segment, grain.Put("segment", segment.ID, segment))
}

func (s *segments) onDelete(_ time.Time, m findSegment) (grain.Outcome[grain.None], error) {
	if _, found := s.all[m.ID]; !found {
		return grain.Outcome[grain.None]{}, domain.NotFound("segment")
	}
	delete(s.all, m.ID)
	return grain.Answer(grain.None{}, grain.Delete("segment", m.ID)), nil
}
