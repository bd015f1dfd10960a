package demo

import (
	"fmt"
	"net/http"
	"time"

	"svc/domain/annotation"
)

// analyticsSettings makes the goals and the funnels of a typical product, and the annotations of its history.
func analyticsSettings(until time.Time) []Call {
	type object = map[string]any
	goal := func(name, kind, match string, value float64) Call {
		return Call{Method: http.MethodPost, Path: "/api/v1/apps/{app}/goals", Body: object{"name": name, "kind": kind, "match": match, "value": value}}
	}
	funnel := func(name string, steps ...object) Call {
		return Call{Method: http.MethodPost, Path: "/api/v1/apps/{app}/funnels", Body: object{"name": name, "windowHours": 168, "steps": steps}}
	}
	mark := func(number, hour int, kind annotation.Kind, title, text string) Call {
		at := until.Truncate(24*time.Hour).AddDate(0, 0, number+1-days).Add(time.Duration(hour) * time.Hour)
		return Call{
			Method: http.MethodPost, Path: "/api/v1/apps/{app}/annotations", Unless: "/api/v1/apps/{app}/annotations?range=90d",
			Body: object{"kind": kind, "at": at.Format(time.RFC3339), "title": title, "text": text},
		}
	}
	path := func(match string) object { return object{"kind": "path", "match": match} }
	event := func(match string) object { return object{"kind": "event", "match": match} }
	return []Call{
		goal("Sign-up", "event", "signed_up", 0), goal("Subscription", "event", "subscribed", 29), goal("Reads the documentation", "path", "/docs*", 0), goal("Asks for a demo", "event", "demo_requested", 0),
		funnel("From the site to a subscription", path("/pricing"), path("/signup"), event("signed_up"), event("subscribed")),
		funnel("First project", event("signed_up"), event("project_created"), event("member_invited")),
		mark(21, 9, annotation.Campaign, "The autumn letter", "To everybody who has an account."),
		mark(63, 12, annotation.Note, "The database is slow", "An index was missing for four hours."),
		mark(86, 10, annotation.Note, "New prices", "Seats cost the same in every plan."),
	}
}

// visits returns the page views and the events of a day.
func visits(d *day) []Item {
	var items []Item
	for _, v := range d.visits {
		items = append(items, d.pages(v)...)
	}
	return items
}

// pages returns the items of one visit.
func (d *day) pages(v visit) (items []Item) {
	at, known := v.begin, v.member
	add := func(item Item) {
		item["ts"], item["sessionId"], item["anonymousId"] = at, v.session, v.anonymous()
		if known {
			item["distinctId"] = v.user()
		}
		item["id"] = fmt.Sprintf("%s-%d", v.session, len(items))
		item["context"] = map[string]any{"ip": v.address, "userAgent": v.agent}
		items = append(items, item)
	}
	event := func(name string, properties map[string]any) Item {
		return Item{"type": "event", "name": name, "properties": properties, "url": Site + v.paths[len(v.paths)-1]}
	}
	for n, path := range v.paths {
		view := Item{"type": "page", "name": "page_view", "url": Site + path, "title": "Harbor " + path}
		if n == 0 && !v.member {
			if v.campaign != "" {
				view["url"] = Site + path + "?" + v.campaign
			}
			view["referrer"] = v.referrer
		}
		if n > 0 {
			view["engagedMs"] = 2000 + d.random.IntN(40_000)
		}
		add(view)
		at = at.Add(time.Duration(6000+d.random.IntN(80_000)) * time.Millisecond)
		if name, properties := d.done(path); name != "" {
			add(event(name, properties))
		}
	}
	if v.known && !v.member {
		known = true
		add(Item{"type": "identify", "traits": v.traits()})
		add(event("signed_up", map[string]any{"plan": v.plan, "method": pick(d.random.Float64(), same("email", "google", "github"))}))
	}
	if price := map[string]float64{"team": 29, "business": 99}[v.plan]; v.member && price > 0 && d.number == v.first+firstReturn(v.visitor) {
		subscribed := event("subscribed", map[string]any{"plan": v.plan, "seats": 1 + v.number%12})
		subscribed["value"], subscribed["currency"] = price, "EUR"
		add(subscribed)
	}
	return items
}

// done invents an action on a page; in most cases it returns none.
func (d *day) done(path string) (name string, properties map[string]any) {
	chance := map[string]float64{"/app/board": 0.35, "/app/members": 0.5, "/app/reports": 0.3, "/customers": 0.12}[path]
	if chance == 0 || d.random.Float64() >= chance {
		return "", nil
	}
	switch path {
	case "/app/board":
		return "project_created", map[string]any{"template": pick(d.random.Float64(), same("blank", "sprint", "launch", "editorial"))}
	case "/app/members":
		return "member_invited", map[string]any{"role": pick(d.random.Float64(), same("editor", "viewer"))}
	case "/app/reports":
		return "report_exported", map[string]any{"format": pick(d.random.Float64(), same("csv", "pdf"))}
	}
	return "demo_requested", map[string]any{"seats": 5 * (1 + d.random.IntN(20))}
}

// firstReturn is the number of days between the registration and the subscription.
func firstReturn(v visitor) int { return 1 + v.number%5 }
