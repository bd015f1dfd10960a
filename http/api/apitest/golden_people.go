package apitest

import (
	"encoding/json"
	"time"

	"svc/domain/event"
)

// FixturePeople returns the events of the staging environment of the application acme/web. They are events of three
// people: Ada came from a newsletter before she signed up. Bob used her device later and has two ids. The third is an
// unknown visitor.
func FixturePeople(now time.Time) []event.Event {
	row := func(id string, minutes int, name, distinctID, anonymousID, session, properties string) event.Event {
		at := now.Add(-time.Duration(minutes) * time.Minute).Truncate(time.Millisecond)
		return event.Event{
			ID: id, Ts: at, ReceivedAt: at, Name: name, URL: "https://acme.example/pricing", Path: "/pricing", DistinctID: distinctID, AnonymousID: anonymousID,
			SessionID: session, Attribution: event.Attribution{Source: "newsletter", Medium: "email", UTMCampaign: "spring"},
			Country: "DE", City: "Berlin", Device: "desktop", Browser: "Firefox", OS: "Linux", Properties: json.RawMessage(properties), Environment: "staging",
		}
	}
	return []event.Event{
		row("per_01", 600, event.PageView, "", "device-1", "ses_1", `{}`),
		row("per_02", 590, event.IdentifyEvent, "ada@acme.example", "device-1", "ses_1", `{"email":"ada@acme.example","name":"Ada Lovelace","phone":"+49 30 1234567","company":"Acme","plan":"pro","$set_once":{"invitedBy":"vic@acme.example"}}`),
		row("per_03", 580, event.PageView, "ada@acme.example", "device-1", "ses_1", `{"contact":"ada@acme.example"}`),
		row("per_04", 300, event.IdentifyEvent, "bob", "device-1", "ses_2", `{"firstName":"Bob","lastName":"Babbage","company":{"name":"Engines"}}`),
		row("per_05", 290, event.PageView, "", "device-1", "ses_3", `{}`),
		row("per_06", 280, "order", "bob-old", "", "ses_4", `{"items":2}`),
		row("per_07", 270, event.AliasEvent, "bob", "bob-old", "ses_2", `{}`),
		row("per_08", 60, event.PageView, "", "device-2", "ses_5", `{}`),
	}
}

// companySteps lists the requests of companies; they come before the requests of people, which merge two persons.
func companySteps() []step {
	const companies = "/api/v1/apps/acme/web/companies"
	return []step{
		{name: "companies.list", as: owner, method: "GET", path: companies + "?env=staging"},
		{name: "companies.list-page", as: viewer, method: "GET", path: companies + "?env=staging&limit=1", keep: map[string]string{"companies": "nextCursor"}},
		{name: "companies.list-next", as: viewer, method: "GET", path: companies + "?env=staging&limit=1&cursor={companies}"},
		{name: "companies.list-search", as: owner, method: "GET", path: companies + "?env=staging&q=ACM"},
		{name: "companies.list-empty", as: owner, method: "GET", path: companies},
		{name: "companies.list-invalid", as: owner, method: "GET", path: companies + "?env=moon&limit=0"},
	}
}

// peopleSteps lists the requests of people.
func peopleSteps() []step {
	const people = "/api/v1/apps/acme/web/people"
	return []step{
		{name: "people.list", as: owner, method: "GET", path: people + "?env=staging", keep: map[string]string{"unknown": "data.0.id", "bob": "data.1.id", "ada": "data.2.id"}},
		{name: "people.list-page", as: owner, method: "GET", path: people + "?env=staging&limit=1", keep: map[string]string{"people": "nextCursor"}},
		{name: "people.list-next", as: owner, method: "GET", path: people + "?env=staging&limit=1&cursor={people}"},
		{name: "people.list-foreign-cursor", as: owner, method: "GET", path: people + "?env=staging&q=ada&cursor={people}"},
		{name: "people.list-search", as: owner, method: "GET", path: people + "?env=staging&q=LOVEL"},
		{name: "people.list-search-company", as: owner, method: "GET", path: people + "?env=staging&q=engin&stage=signup"},
		{name: "people.list-empty", as: owner, method: "GET", path: people + "?env=development"},
		{name: "people.list-masked", as: viewer, method: "GET", path: people + "?env=staging"},
		{name: "people.list-masked-search", as: viewer, method: "GET", path: people + "?env=staging&q=ada%40acme"},
		{name: "people.list-masked-search-name", as: viewer, method: "GET", path: people + "?env=staging&q=lovelace"},
		{name: "people.list-invalid", as: owner, method: "GET", path: people + "?env=moon&stage=king&limit=0"},
		{name: "people.get", as: owner, method: "GET", path: people + "/{ada}?env=staging"},
		{name: "people.get-masked", as: viewer, method: "GET", path: people + "/{ada}?env=staging"},
		{name: "people.get-missing", as: owner, method: "GET", path: people + "/per_0000000000000?env=staging"},
		{name: "people.get-other-environment", as: owner, method: "GET", path: people + "/{ada}"},
		{name: "people.update", as: owner, method: "PATCH", path: people + "/{ada}?env=staging", body: `{"stage":"paying","tags":[" vip ","early","vip"],"crm":{"owner":"Vic","seats":3}}`},
		{name: "people.update-again", as: owner, method: "PATCH", path: people + "/{ada}?env=staging", body: `{"stage":"paying","crm":{"seats":null}}`},
		{name: "people.update-automatic", as: owner, method: "PATCH", path: people + "/{bob}?env=staging", body: `{"stage":null,"tags":["early"]}`},
		{name: "people.update-empty", as: owner, method: "PATCH", path: people + "/{ada}?env=staging", body: `{}`},
		{name: "people.update-invalid", as: owner, method: "PATCH", path: people + "/{ada}?env=staging", body: `{"stage":"king","tags":7}`},
		{name: "people.update-missing", as: owner, method: "PATCH", path: people + "/per_0000000000000?env=staging", body: `{"stage":"lead"}`},
		{name: "people.list-stage", as: owner, method: "GET", path: people + "?env=staging&stage=paying"},
		{name: "people.list-tags", as: owner, method: "GET", path: people + "?env=staging&tag=early&tag=vip"},
		{name: "people.note", as: owner, method: "POST", path: people + "/{ada}/notes?env=staging", body: `{"text":" Asked ada@acme.example for the contract. "}`},
		{name: "people.note-empty", as: owner, method: "POST", path: people + "/{ada}/notes?env=staging", body: `{"text":" "}`},
		{name: "people.note-missing", as: owner, method: "POST", path: people + "/per_0000000000000/notes?env=staging", body: `{"text":"x"}`},
		{name: "people.timeline", as: owner, method: "GET", path: people + "/{ada}/timeline?env=staging"},
		{name: "people.timeline-masked", as: viewer, method: "GET", path: people + "/{ada}/timeline?env=staging"},
		{name: "people.timeline-page", as: owner, method: "GET", path: people + "/{bob}/timeline?env=staging&limit=2&kind=event", keep: map[string]string{"timeline": "nextCursor"}},
		{name: "people.timeline-next", as: owner, method: "GET", path: people + "/{bob}/timeline?env=staging&limit=2&kind=event&cursor={timeline}"},
		{name: "people.timeline-invalid", as: owner, method: "GET", path: people + "/{ada}/timeline?env=staging&kind=dream&before=noon"},
		{name: "people.timeline-missing", as: owner, method: "GET", path: people + "/per_0000000000000/timeline?env=staging"},
		{name: "people.merge", as: owner, method: "POST", path: people + "/{bob}/merge?env=staging", body: `{"personId":"{ada}"}`},
		{name: "people.merge-again", as: owner, method: "POST", path: people + "/{ada}/merge?env=staging", body: `{"personId":"{bob}"}`},
		{name: "people.merge-unknown", as: owner, method: "POST", path: people + "/{ada}/merge?env=staging", body: `{"personId":"per_0000000000000"}`},
		{name: "people.merge-missing", as: owner, method: "POST", path: people + "/per_0000000000000/merge?env=staging", body: `{"personId":"{ada}"}`},
		{name: "people.split", as: owner, method: "POST", path: people + "/{ada}/split?env=staging", body: `{"id":"bob-old"}`},
		{name: "people.split-unknown", as: owner, method: "POST", path: people + "/{ada}/split?env=staging", body: `{"id":"nobody"}`},
		{name: "people.split-invalid", as: owner, method: "POST", path: people + "/{ada}/split?env=staging", body: `{"id":"","from":"2099-01-01T00:00:00Z"}`},
		{name: "people.split-missing", as: owner, method: "POST", path: people + "/per_0000000000000/split?env=staging", body: `{"id":"ada"}`},
		{name: "people.get-merged", as: owner, method: "GET", path: people + "/{bob}?env=staging"},
	}
}

// segmentSteps lists the requests of segments; they follow the requests of people.
func segmentSteps() []step {
	const (
		segments = "/api/v1/apps/acme/web/segments"
		people   = "/api/v1/apps/acme/web/people"
		vip      = `{"all":[{"field":"tag","op":"in","value":["vip"]},{"any":[{"field":"trait.email","op":"contains","value":"@acme"},{"field":"did_event","op":"within_days","value":7,"event":{"name":"order","count":2}}]}]}`
	)
	return []step{
		{name: "segments.list-empty", as: owner, method: "GET", path: segments},
		{name: "segments.put", as: owner, method: "POST", path: segments + "?env=staging", body: `{"name":" Important ","definition":` + vip + `}`, keep: map[string]string{"vip": "id"}},
		{name: "segments.put-static", as: owner, method: "POST", path: segments + "?env=staging", body: `{"name":"Chosen","kind":"static","memberIds":["{ada}","{ada}","per_0000000000000"]}`, keep: map[string]string{"chosen": "id"}},
		{name: "segments.put-replace", as: owner, method: "POST", path: segments + "?env=staging", body: `{"id":"{chosen}","name":"Chosen people","kind":"static","memberIds":["{ada}","{unknown}"]}`},
		{name: "segments.put-missing", as: owner, method: "POST", path: segments, body: `{"id":"seg_0","name":"Gone","definition":{"all":[{"field":"stage","op":"eq","value":"lead"}]}}`},
		{name: "segments.put-invalid", as: owner, method: "POST", path: segments, body: `{"name":"","kind":"round","definition":{"all":[{"field":"shoe","op":"eq"},{"any":[{"field":"stage","op":"eq","value":"king"}]}]},"memberIds":["ada"]}`},
		{name: "segments.put-without-definition", as: owner, method: "POST", path: segments, body: `{"name":"Nobody"}`},
		{name: "segments.put-masked", as: viewer, method: "POST", path: segments, body: `{"name":"Ada","definition":` + vip + `}`},
		{name: "segments.list", as: owner, method: "GET", path: segments + "?env=staging"},
		{name: "segments.list-page", as: owner, method: "GET", path: segments + "?env=staging&limit=1", keep: map[string]string{"segments": "nextCursor"}},
		{name: "segments.list-next", as: owner, method: "GET", path: segments + "?env=staging&limit=1&cursor={segments}"},
		{name: "segments.list-masked", as: viewer, method: "GET", path: segments + "?env=staging"},
		{name: "segments.list-invalid", as: owner, method: "GET", path: segments + "?env=moon&limit=0"},
		{name: "segments.members", as: owner, method: "GET", path: segments + "/{vip}/members?env=staging"},
		{name: "segments.members-static", as: viewer, method: "GET", path: segments + "/{chosen}/members?env=staging&limit=1", keep: map[string]string{"members": "nextCursor"}},
		{name: "segments.members-next", as: viewer, method: "GET", path: segments + "/{chosen}/members?env=staging&limit=1&cursor={members}"},
		{name: "segments.members-missing", as: owner, method: "GET", path: segments + "/seg_0/members"},
		{name: "segments.preview", as: owner, method: "POST", path: segments + "/preview?env=staging", body: `{"definition":{"any":[{"field":"device","op":"eq","value":"desktop"},{"field":"sessions","op":"gt","value":3}]}}`},
		{name: "segments.preview-masked", as: viewer, method: "POST", path: segments + "/preview?env=staging", body: `{"definition":{"all":[{"field":"stage","op":"neq","value":"visitor"}]}}`},
		{name: "segments.preview-personal", as: viewer, method: "POST", path: segments + "/preview?env=staging", body: `{"definition":{"all":[{"field":"trait.phone","op":"exists"},{"field":"trait.email","op":"eq","value":"ada@acme.example"}]}}`},
		{name: "segments.preview-invalid", as: owner, method: "POST", path: segments + "/preview", body: `{"definition":{"all":[{"field":"last_seen_at","op":"within_days","value":"soon"}]}}`},
		{name: "people.list-segment", as: owner, method: "GET", path: people + "?env=staging&segment={chosen}&q=ada"},
		{name: "people.list-unknown-segment", as: owner, method: "GET", path: people + "?env=staging&segment=seg_0"},
		{name: "analytics.overview-segment", as: owner, method: "GET", path: "/api/v1/apps/acme/web/analytics/overview?env=staging&filter=segment:{vip}"},
		{name: "analytics.overview-unknown-segment", as: owner, method: "GET", path: "/api/v1/apps/acme/web/analytics/overview?env=staging&filter=segment:seg_0"},
		{name: "segments.delete", as: owner, method: "DELETE", path: segments + "/{chosen}"},
		{name: "segments.delete-missing", as: owner, method: "DELETE", path: segments + "/{chosen}"},
	}
}

// exportSteps lists the requests of exports; they follow the requests of people.
func exportSteps() []step {
	const app = "/api/v1/apps/acme/web"
	return []step{
		{name: "people.export", as: owner, method: "GET", path: app + "/people/{ada}/export?env=staging"},
		{name: "people.export-masked", as: viewer, method: "GET", path: app + "/people/{ada}/export?env=staging"},
		{name: "people.export-missing", as: owner, method: "GET", path: app + "/people/per_0000000000000/export?env=staging"},
		{name: "exports.create", as: owner, method: "POST", path: app + "/exports?env=staging", body: `{"kind":"people","format":"csv"}`, keep: map[string]string{"export": "id"}},
		{name: "exports.create-invalid", as: owner, method: "POST", path: app + "/exports?env=moon", body: `{"kind":"dreams","format":"xml","from":"2026-11-02T00:00:00Z","to":"2026-11-01T00:00:00Z"}`},
		{name: "exports.get", as: owner, method: "GET", path: app + "/exports/{export}", until: `"status":"ready"`},
		{name: "exports.get-masked", as: viewer, method: "GET", path: app + "/exports/{export}"},
		{name: "exports.get-missing", as: owner, method: "GET", path: app + "/exports/exp_0"},
		{name: "exports.list", as: viewer, method: "GET", path: app + "/exports"},
	}
}

// reportSteps lists the requests of e-mail reports.
func reportSteps() []step {
	const reports = "/api/v1/apps/acme/web/reports"
	return []step{
		{name: "reports.list-empty", as: viewer, method: "GET", path: reports},
		{name: "reports.put", as: owner, method: "POST", path: reports, body: `{"kind":"weekly","recipients":["ada@acme.example","ada@acme.example"]}`, keep: map[string]string{"report": "id"}},
		{name: "reports.put-again", as: owner, method: "POST", path: reports, body: `{"kind":"weekly","recipients":["ada@acme.example","bob@acme.example"],"enabled":false}`},
		{name: "reports.put-spike", as: owner, method: "POST", path: reports + "?env=staging", body: `{"kind":"spike","recipients":["ada@acme.example"],"threshold":100}`},
		{name: "reports.put-invalid", as: owner, method: "POST", path: reports + "?env=moon", body: `{"kind":"daily","recipients":["nobody"],"threshold":5}`},
		{name: "reports.put-forbidden", as: viewer, method: "POST", path: reports, body: `{"kind":"weekly","recipients":["ada@acme.example"]}`},
		{name: "reports.list", as: owner, method: "GET", path: reports},
		{name: "reports.list-masked", as: viewer, method: "GET", path: reports},
		{name: "reports.delete", as: owner, method: "DELETE", path: reports + "/{report}"},
		{name: "reports.delete-again", as: owner, method: "DELETE", path: reports + "/{report}"},
	}
}

// erasureSteps lists the requests of erasures. They follow the requests of segments, which have the erased person as a
// member.
func erasureSteps() []step {
	const people = "/api/v1/apps/acme/web/people"
	return []step{
		{name: "people.erase-masked", as: viewer, method: "DELETE", path: people + "/{unknown}?env=staging"},
		{name: "people.erase-missing", as: owner, method: "DELETE", path: people + "/per_0000000000000?env=staging"},
		{name: "people.erase", as: owner, method: "DELETE", path: people + "/{unknown}?env=staging"},
		{name: "people.erase-again", as: owner, method: "DELETE", path: people + "/{unknown}?env=staging"},
		{name: "erasures.list", as: viewer, method: "GET", path: "/api/v1/apps/acme/web/erasures"},
	}
}

// dropOffSteps lists the requests for the people that dropped off in a funnel, which the steps make and delete.
func dropOffSteps() []step {
	const people = "/api/v1/apps/acme/web/people"
	return []step{
		{name: "people.list-funnel", as: owner, method: "POST", path: "/api/v1/apps/acme/web/funnels", body: `{"name":"Orders","steps":[{"kind":"path","match":"/pricing"},{"kind":"event","match":"order"}]}`, keep: map[string]string{"orders": "id"}},
		{name: "people.list-dropped-off", as: owner, method: "GET", path: people + "?env=staging&funnel={orders}&step=1&range=7d"},
		{name: "people.list-dropped-off-masked", as: viewer, method: "GET", path: people + "?env=staging&funnel={orders}&step=1&range=7d"},
		{name: "people.list-dropped-off-nobody", as: owner, method: "GET", path: people + "?funnel={orders}&step=1&range=custom:2020-01-01..2020-01-02"},
		{name: "people.list-dropped-off-last-step", as: owner, method: "GET", path: people + "?funnel={orders}&step=2"},
		{name: "people.list-dropped-off-missing", as: owner, method: "GET", path: people + "?funnel=fun_1&step=1"},
		{name: "people.list-dropped-off-no-step", as: owner, method: "GET", path: people + "?funnel={orders}"},
		{name: "people.list-dropped-off-no-funnel", as: owner, method: "GET", path: people + "?step=12&range=8d"},
		{name: "people.list-personal-funnel", as: owner, method: "PUT", path: "/api/v1/apps/acme/web/funnels/{orders}", body: `{"name":"Orders","steps":[{"kind":"path","match":"/pricing","filters":[{"property":"property.email","op":"eq","value":"x"}]},{"kind":"event","match":"order"}]}`},
		{name: "people.list-dropped-off-personal", as: viewer, method: "GET", path: people + "?env=staging&funnel={orders}&step=1"},
		{name: "people.list-no-funnel", as: owner, method: "DELETE", path: "/api/v1/apps/acme/web/funnels/{orders}"},
	}
}
