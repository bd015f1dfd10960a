package mcp

import (
	"context"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/conversation"
)

// Bounds of the search for the reach of a token.
const (
	maxOrganizations = 50
	maxApplications  = 200
	// shownApps bounds the applications in a text.
	shownApps = 20
)

// place is an application, or an organization without applications, with the permissions of the token there.
type place struct {
	ref      domain.AppRef
	audience conversation.Audience
}

// reach is the set of places that a token reaches. It is partial if an organization did not answer; then there may be
// more places.
type reach struct {
	places  []place
	partial bool
}

// reach finds the present reach of the caller: it reads memberships and modules for every call. It omits an
// organization that does not answer, so that the others stay reachable; it fails if none answers.
func (s *Server) reach(ctx context.Context, who *caller) (*reach, error) {
	memberships, err := s.config.Organizations.Memberships(ctx, who.grant)
	if err != nil {
		return nil, err
	}
	found := &reach{}
	var failed error
	for i := range memberships[:min(len(memberships), maxOrganizations)] {
		org := memberships[i].Slug
		places, err := s.within(ctx, who, org)
		if err != nil {
			s.config.Logger.Warn("an organization is left out of what a token reaches", "org", org, "error", err)
			found.partial, failed = true, err
		}
		found.places = append(found.places, places...)
	}
	if len(found.places) == 0 {
		return found, failed
	}
	return found, nil
}

// within finds the caller's reach in an organization. It returns nothing if the membership has just ended.
func (s *Server) within(ctx context.Context, who *caller, org string) (places []place, err error) {
	audience, err := s.audience(ctx, who, org)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	apps, _, err := s.config.Apps.List(ctx, org, "", maxApplications)
	if err != nil {
		return nil, err
	}
	if len(apps) == 0 {
		return []place{{domain.AppRef{Org: org}, audience}}, nil
	}
	for i := range apps {
		audience.Modules = apps[i].Modules
		places = append(places, place{apps[i].Ref(), audience})
	}
	return places, nil
}

// audience returns the caller's permissions in an organization, within the organization's rules for models. It fails
// with not_found if the token does not address the organization.
func (s *Server) audience(ctx context.Context, who *caller, org string) (conversation.Audience, error) {
	grant, _, err := s.config.Authority.Authorize(ctx, who.secret.Reveal(), domain.RateNone, org)
	if err != nil {
		return conversation.Audience{}, err
	}
	user := ""
	if grant.Token.User != nil {
		user = grant.Token.User.ID
	}
	settings, err := s.config.Settings.Settings(ctx, org, user)
	if err != nil {
		return conversation.Audience{}, err
	}
	return conversation.NewAudience(grant, nil, settings.Policy), nil
}

// sees reports whether a tool can be called with success in some place.
func (r *reach) sees(tool *conversation.Tool) bool {
	return slices.ContainsFunc(r.places, func(p place) bool { return p.audience.Sees(tool) })
}

// names lists the applications that the token may know by name.
func (r *reach) names() (out []string) {
	for i := range r.places {
		if at := &r.places[i]; at.ref.App != "" && at.audience.Grant.May(domain.PermAppsRead) {
			out = append(out, at.ref.String())
		}
	}
	return out
}

// organizations lists the organizations.
func (r *reach) organizations() (out []string) {
	for i := range r.places {
		out = append(out, r.places[i].ref.Org)
	}
	return slices.Compact(out)
}

// refOf reads an address of the form org/app, or only org if app is false.
func refOf(text string, app bool) (domain.AppRef, bool) {
	org, name, both := strings.Cut(text, "/")
	return domain.AppRef{Org: org, App: name}, org != "" && both == app && (name != "") == app && !strings.Contains(name, "/")
}
