package people

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/person"
	"svc/domain/segment"
	"svc/http/api"
	"svc/http/route"
)

// Segments stores the segments of applications.
type Segments interface {
	// Segments returns the segments of an application, ordered by id.
	Segments(ctx context.Context, app domain.Application) ([]segment.Segment, error)
	// CreateSegment makes a segment of a valid specification.
	CreateSegment(ctx context.Context, app domain.Application, spec segment.Spec) (segment.Segment, error)
	// ReplaceSegment gives a segment another specification. It fails with not_found if the segment does not exist.
	ReplaceSegment(ctx context.Context, app domain.Application, id string, spec segment.Spec) (segment.Segment, error)
	// DeleteSegment fails with conflict while the segment is in use.
	DeleteSegment(ctx context.Context, app domain.Application, id string) error
}

// Tallies counts the people of segments.
type Tallies interface {
	// SegmentCounts returns the number of people of an environment in each of some segments.
	SegmentCounts(ctx context.Context, environment domain.Environment, segments []segment.Segment, now time.Time) ([]uint64, error)
}

// segments serves the routes of segments.
type segments struct {
	segments Segments
	tallies  Tallies
	people   People
}

func segmentRoutes(ports Ports) []route.Route {
	s := segments{segments: ports.Segments, tallies: ports.Tallies, people: ports.People}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/segments", Operation: "segments.list", Module: domain.ModulePeople, Scope: domain.ScopeRead, Permission: domain.PermPeopleRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "List segments with the number of their people", Handler: route.Typed(s.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/segments", Operation: "segments.put", Module: domain.ModulePeople, Scope: domain.ScopeWrite, Permission: domain.PermPeopleWrite, Effect: route.Write, Ledger: "segment.updated", Rate: domain.RateDefault,
			Summary: "Create or replace a segment", Status: http.StatusCreated, Also: http.StatusOK, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(s.put),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/segments/{id}", Operation: "segments.delete", Module: domain.ModulePeople, Scope: domain.ScopeWrite, Permission: domain.PermPeopleWrite, Effect: route.Destructive, Ledger: "segment.deleted", Rate: domain.RateDefault,
			Summary: "Delete a segment that no flag and no campaign uses", Status: http.StatusNoContent, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(s.delete),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/segments/{id}/members", Operation: "segments.members", Module: domain.ModulePeople, Scope: domain.ScopeRead, Permission: domain.PermPeopleRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "The people of a segment", Handler: route.Typed(s.members),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/segments/preview", Operation: "segments.preview", Module: domain.ModulePeople, Scope: domain.ScopeRead, Permission: domain.PermPeopleRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Count the people who meet a definition, and show ten of them", Handler: route.Typed(s.preview),
		},
	}
}

// definition is the definition of a segment, which segment.ParseSegmentDefinition reads.
type definition struct{ json.RawMessage }

// Schema describes the outermost group; its conditions may contain groups.
func (definition) Schema() route.Schema {
	list := route.Schema{"type": "array", "items": route.Schema{"type": "object"}}
	return route.Schema{
		"type": []string{"object", "null"}, "properties": route.Schema{"all": list, "any": list},
		"description": "{all: […], any: […]}: all of all are met and at least one of any. Each is a condition {field, op, value, event: {name, count}} or another group.",
	}
}

func (d definition) given() bool { return len(d.RawMessage) > 0 && string(d.RawMessage) != "null" }

// segmentJSON is a segment as answers show it.
type segmentJSON struct {
	ID              string       `json:"id"`
	Name            string       `json:"name"`
	Kind            segment.Kind `json:"kind"`
	Definition      definition   `json:"definition" doc:"null for a static segment. Without people.pii.read, personal values are masked."`
	MemberCount     uint64       `json:"memberCount" doc:"The people who are in the segment now, in the environment."`
	CreatedAt       route.Time   `json:"createdAt"`
	UpdatedAt       route.Time   `json:"updatedAt"`
	LastEvaluatedAt route.Time   `json:"lastEvaluatedAt" doc:"When the people were counted: at the request."`
}

// shownSegment returns the function that makes the answer of a segment for the caller.
func shownSegment(call *route.Call) func(*segment.Segment) segmentJSON {
	seesPersons := call.Grant.May(domain.PermPeoplePIIRead)
	return func(s *segment.Segment) segmentJSON {
		shown := *s
		if !seesPersons {
			shown.Mask()
		}
		out := segmentJSON{
			ID: s.ID, Name: s.Name, Kind: s.Kind, Definition: definition{json.RawMessage("null")}, CreatedAt: route.Time(s.CreatedAt),
			UpdatedAt: route.Time(s.UpdatedAt), LastEvaluatedAt: route.Time(call.Now),
		}
		if shown.Definition != nil {
			out.Definition.RawMessage, _ = json.Marshal(shown.Definition) // Marshalling texts, numbers and booleans never fails.
		}
		return out
	}
}

type listSegments struct {
	api.AppPath
	api.Paging
	Env api.Env `query:"env" doc:"The environment's slug."`
}

// segmentPage is the answer of …/segments.
type segmentPage struct {
	domain.Page[segmentJSON]
	Environment string `json:"environment"`
}

func (s segments) list(ctx context.Context, call *route.Call, in listSegments) (segmentPage, error) {
	all, err := s.segments.Segments(ctx, call.App)
	if err != nil {
		return segmentPage{}, err
	}
	page, err := api.PageOfAll(call, api.Convert(all, shownSegment(call)), in.Paging, func(row segmentJSON) string { return row.ID })
	if err != nil {
		return segmentPage{}, err
	}
	asked := make([]segment.Segment, len(page.Data))
	for i := range page.Data {
		asked[i] = all[slices.IndexFunc(all, func(one segment.Segment) bool { return one.ID == page.Data[i].ID })]
	}
	counts, err := s.tallies.SegmentCounts(ctx, in.Env.Environment, asked, call.Now)
	if err != nil {
		return segmentPage{}, err
	}
	for i := range page.Data {
		page.Data[i].MemberCount = counts[i]
	}
	return segmentPage{page, in.Env.Slug}, nil
}

type putSegment struct {
	api.AppPath
	Env  api.Env     `query:"env" doc:"The environment whose people memberCount counts."`
	Body segmentBody `body:"json"`

	spec segment.Spec
}

// segmentBody is the body of POST …/segments.
type segmentBody struct {
	ID         string       `json:"id" doc:"The segment to replace; absent for a new one."`
	Name       string       `json:"name" required:"true" doc:"The name that people read."`
	Kind       segment.Kind `json:"kind" doc:"dynamic where it is absent."`
	Definition definition   `json:"definition" doc:"Who is in a dynamic segment."`
	MemberIDs  []string     `json:"memberIds" doc:"The people of a static segment, by their ids, at most 10000. An id that nobody has counts nobody."`
}

// Check applies the rules of segments.
func (p *putSegment) Check(*route.Call) (problems []domain.FieldError) {
	p.spec = segment.Spec{Name: p.Body.Name, Kind: p.Body.Kind}
	if p.spec.Kind == "" {
		p.spec.Kind = segment.Dynamic
	}
	for i, id := range p.Body.MemberIDs {
		visitor, ok := person.ParsePersonID(id)
		if !ok && len(problems) == 0 {
			problems = append(problems, domain.FieldError{Field: fmt.Sprintf("memberIds[%d]", i), Code: "invalid_value", Message: fmt.Sprintf("%q is no id of a person.", id)})
		}
		p.spec.Members = append(p.spec.Members, visitor)
	}
	if p.Body.Definition.given() {
		group, found := segment.ParseSegmentDefinition(p.Body.Definition.RawMessage)
		if len(found) > 0 {
			return append(problems, found...)
		}
		p.spec.Definition = group
	}
	return append(problems, p.spec.Validate()...)
}

func (s segments) put(ctx context.Context, call *route.Call, in putSegment) (segmentJSON, error) {
	if err := mayAsk(call, in.spec.Definition); err != nil {
		return segmentJSON{}, err
	}
	var kept segment.Segment
	var err error
	if in.Body.ID == "" {
		kept, err = s.segments.CreateSegment(ctx, call.App, in.spec)
	} else {
		kept, err = s.segments.ReplaceSegment(ctx, call.App, in.Body.ID, in.spec)
		call.Answer(http.StatusOK)
	}
	if err != nil {
		return segmentJSON{}, err
	}
	if in.Body.ID == "" {
		call.Created("/apps/" + call.Ref().String() + "/segments/" + kept.ID)
	}
	call.About(kept.ID)
	counts, err := s.tallies.SegmentCounts(ctx, in.Env.Environment, []segment.Segment{kept}, call.Now)
	if err != nil {
		return segmentJSON{}, err
	}
	row := shownSegment(call)(&kept)
	row.MemberCount = counts[0]
	return row, nil
}

// mayAsk refuses a definition that would reveal masked data to a caller without people.pii.read.
func mayAsk(call *route.Call, group *segment.Group) error {
	if group == nil || !group.Personal() || call.Grant.May(domain.PermPeoplePIIRead) {
		return nil
	}
	return &domain.Error{
		Code: domain.CodeForbidden, Required: &domain.Required{Permission: domain.PermPeoplePIIRead},
		Message: "The definition asks for what is masked to you; it needs people.pii.read.",
	}
}

type segmentPath struct {
	api.AppPath
	ID string `path:"id" doc:"The segment's id."`
}

func (s segments) delete(ctx context.Context, call *route.Call, in segmentPath) (route.Empty, error) {
	return route.Empty{}, s.segments.DeleteSegment(ctx, call.App, in.ID)
}

type listMembers struct {
	segmentPath
	api.Paging
	Env api.Env `query:"env" doc:"The environment's slug."`
}

func (s segments) members(ctx context.Context, call *route.Call, in listMembers) (personPage, error) {
	found, err := segmentOf(ctx, s.segments, call, in.ID)
	if err != nil {
		return personPage{}, err
	}
	return pageOfPeople(ctx, call, s.people, person.Query{Environment: in.Env.Environment, Segment: &found, Now: call.Now, Limit: int(in.Limit)}, in.Cursor)
}

// segmentOf returns a segment of the path's application.
func segmentOf(ctx context.Context, segments Segments, call *route.Call, id string) (segment.Segment, error) {
	all, err := segments.Segments(ctx, call.App)
	if err != nil {
		return segment.Segment{}, err
	}
	at := slices.IndexFunc(all, func(one segment.Segment) bool { return one.ID == id })
	if at < 0 {
		return segment.Segment{}, domain.NotFound("segment")
	}
	return all[at], nil
}

type previewSegment struct {
	api.AppPath
	Env  api.Env     `query:"env" doc:"The environment's slug."`
	Body previewBody `body:"json"`

	group *segment.Group
}

// previewBody is the body of POST …/segments/preview.
type previewBody struct {
	Definition definition `json:"definition" required:"true" doc:"Who would be in the segment."`
}

// Check reads the definition.
func (p *previewSegment) Check(*route.Call) (problems []domain.FieldError) {
	p.group, problems = segment.ParseSegmentDefinition(p.Body.Definition.RawMessage)
	return problems
}

// previewSize is the number of people in a preview.
const previewSize = 10

// segmentPreview is the answer of …/segments/preview.
type segmentPreview struct {
	MemberCount uint64       `json:"memberCount"`
	Members     []personJSON `json:"members" doc:"Ten of them, those first seen last before others."`
	Environment string       `json:"environment"`
}

func (s segments) preview(ctx context.Context, call *route.Call, in previewSegment) (segmentPreview, error) {
	if err := mayAsk(call, in.group); err != nil {
		return segmentPreview{}, err
	}
	previewed := segment.Segment{Kind: segment.Dynamic, Definition: in.group}
	counts, err := s.tallies.SegmentCounts(ctx, in.Env.Environment, []segment.Segment{previewed}, call.Now)
	if err != nil {
		return segmentPreview{}, err
	}
	list, err := s.people.People(ctx, person.Query{Environment: in.Env.Environment, Segment: &previewed, Now: call.Now, Limit: previewSize})
	if err != nil {
		return segmentPreview{}, err
	}
	return segmentPreview{MemberCount: counts[0], Members: api.Convert(list.Rows, shownPerson(call)), Environment: in.Env.Slug}, nil
}
