package people

import (
	"context"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/segment"
)

// SegmentUser is a part of the product that depends on segments, such as flags.
type SegmentUser interface {
	// SegmentUses returns the parts of an application that use a segment.
	SegmentUses(ctx context.Context, app domain.Application, id string) ([]segment.Use, error)
}

// Segments manages the segments of applications.
type Segments struct {
	Actors grain.Caller
	NewID  func(prefix string) string
	// Users are asked before a segment is deleted.
	Users []SegmentUser
}

// Segments returns the segments of an application by id.
func (s *Segments) Segments(ctx context.Context, app domain.Application) ([]segment.Segment, error) {
	return segmentsList.Ask(ctx, s.Actors, app.ID, grain.None{})
}

// CreateSegment makes a segment of a valid specification.
func (s *Segments) CreateSegment(ctx context.Context, app domain.Application, spec segment.Spec) (segment.Segment, error) {
	return segmentsCreate.Ask(ctx, s.Actors, app.ID, createSegment{domain.DrawID(ctx, "seg_", s.NewID), spec})
}

// ReplaceSegment gives a segment another specification. It fails with not_found if there is no such segment.
func (s *Segments) ReplaceSegment(ctx context.Context, app domain.Application, id string, spec segment.Spec) (segment.Segment, error) {
	return segmentsReplace.Ask(ctx, s.Actors, app.ID, createSegment{id, spec})
}

// Uses returns the parts of an application that use a segment.
func (s *Segments) Uses(ctx context.Context, app domain.Application, id string) (uses []segment.Use, err error) {
	for _, user := range s.Users {
		more, err := user.SegmentUses(ctx, app, id)
		if err != nil {
			return nil, err
		}
		uses = append(uses, more...)
	}
	return uses, nil
}

// DeleteSegment removes a segment. It fails with conflict while it is in use. A user that begins during the deletion
// finds a segment without people.
func (s *Segments) DeleteSegment(ctx context.Context, app domain.Application, id string) error {
	uses, err := s.Uses(ctx, app, id)
	if err != nil {
		return err
	}
	if len(uses) > 0 {
		return segment.InUse(uses)
	}
	_, err = segmentsDelete.Ask(ctx, s.Actors, app.ID, findSegment{id})
	return err
}
