package people

import (
	"context"
	"encoding/json"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/person"
	"svc/http/route"
)

// PersonLine returns a person as lists show it, as JSON without a line break. It is masked for callers that may not see
// personal fields. The application adds names of fields to the list.
func PersonLine(p *person.Person, masked bool, fields domain.PersonalFields) ([]byte, error) {
	if masked {
		p.Mask()
	}
	line, err := json.Marshal(personOf(p))
	if masked && err == nil {
		line = domain.MaskDocument(line, domain.PersonalMask{Fields: fields})
	}
	return line, err
}

func exportRoutes(ports Ports) []route.Route {
	d := newDossiers(ports)
	return []route.Route{{
		Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/people/{id}/export", Operation: "people.export", Module: domain.ModulePeople, Scope: domain.ScopeRead, Permission: domain.PermPeopleRead, Effect: route.Read, Rate: domain.RateQuery,
		Summary: "Everything that is kept of a person, for the right of access",
		Events:  "A line of JSON for the person (kind person, data the dossier), then one for each entry of the timeline, the newest first (kind event, activity or error).",
		Handler: route.Lined(d.export),
	}}
}

// personExported is the first line of an export.
type personExported struct {
	Kind        string     `json:"kind"`
	Environment string     `json:"environment"`
	ExportedAt  route.Time `json:"exportedAt"`
	Data        personJSON `json:"data"`
}

// exportPage is the number of timeline entries per read.
const exportPage = 500

// export answers the person and the whole timeline. It ends if the person is erased during the export.
func (d dossiers) export(ctx context.Context, call *route.Call, in personPath, yield func(line any) error) error {
	if !call.Grant.May(domain.PermPeoplePIIRead) {
		return &domain.Error{
			Code: domain.CodeForbidden, Message: "Exporting a person takes people.pii.read.",
			Required: &domain.Required{Scope: domain.ScopeRead, Permission: domain.PermPeoplePIIRead},
		}
	}
	found, err := d.find(ctx, call, in)
	if err != nil {
		return err
	}
	call.Attach(found.ID + ".ndjson")
	if err := yield(personExported{"person", in.Env.Slug, route.Time(call.Now), personOf(&found)}); err != nil {
		return err
	}
	query := person.TimelineQuery{Environment: in.Env.Environment, Visitor: found.Number, Kinds: person.TimelineKinds(), Before: person.TimelineStart(call.Now.Add(event.FutureTolerance)), Limit: exportPage}
	for {
		page, cancel := context.WithTimeout(ctx, exportPageTime)
		entries, more, err := d.timelines.Timeline(page, query)
		cancel()
		if err != nil {
			return err
		}
		for i := range entries {
			if err := yield(entryOf(&entries[i])); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		query.Before = entries[len(entries)-1].TimelineKey
	}
}

// exportPageTime bounds the read of a page.
const exportPageTime = 30 * time.Second
