package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// analyticsRows lists flags, and the definitions by which the sent data are read.
func analyticsRows(*testing.T) []changeable {
	return []changeable{goalRow(), funnelRow(), segmentRow(), flagRow(), annotationRow()}
}

// eventItem is an event of a visitor, now.
func eventItem(name, visitor string) map[string]any {
	return map[string]any{"type": "event", "name": name, "distinctId": visitor}
}

// grows sends items. It waits until a number is larger by exactly the share of these items.
func (c *workshop) grows(what string, by float64, read func() float64, items ...map[string]any) {
	c.t.Helper()
	before := read()
	c.send(items...)
	eventually(c.t, what, func() error {
		if got := read(); got != before+by {
			return fmt.Errorf("it is %v, want %v", got, before+by)
		}
		return nil
	})
}

// goalRow is a goal. A conversion is counted once.
func goalRow() changeable {
	id, name, worth := "", "Signup", 10.0
	item := func(visitor string) map[string]any { return eventItem("signed up", visitor) }
	patch := func(c *workshop, body string) { c.manage("PATCH", "/goals/"+id, body) }
	return changeable{
		entity: "goal",
		create: func(c *workshop) {
			id = c.manage("POST", "/goals", `{"name":"Signup","kind":"event","match":"signed up","value":10}`)["id"].(string)
		},
		changes: []change{
			{"name", func(c *workshop) { patch(c, `{"name":"Account"}`); name = "Account" }},
			{"match", func(c *workshop) {
				patch(c, `{"match":"joined"}`)
				item = func(visitor string) map[string]any { return eventItem("joined", visitor) }
			}},
			{"value", func(c *workshop) { patch(c, `{"value":25}`); worth = 25 }},
			{"kind", func(c *workshop) {
				patch(c, `{"kind":"path","match":"/welcome*"}`)
				item = func(visitor string) map[string]any {
					return map[string]any{"type": "page", "distinctId": visitor, "path": "/welcome/all"}
				}
			}},
		},
		works: func(c *workshop) {
			row := func(member string) any {
				for _, one := range c.get(appPath + "/analytics/goals?range=24h")["data"].([]any) {
					if one := one.(map[string]any); one["goalId"] == id {
						return one[member]
					}
				}
				return nil
			}
			conversions := func() float64 { count, _ := row("conversions").(float64); return count }
			c.grows("the conversion is counted", 1, conversions, item(c.next("visitor")))
			if row("name") != name {
				c.t.Errorf("the goal is named %v, want %s", row("name"), name)
			}
			if goals := c.get(appPath + "/goals")["data"].([]any); !slices.ContainsFunc(goals, func(one any) bool {
				return one.(map[string]any)["id"] == id && one.(map[string]any)["value"] == worth
			}) {
				c.t.Errorf("no goal is worth %v in %v", worth, goals)
			}
		},
	}
}

// funnelRow is a funnel. A visitor that takes all steps is counted in each.
func funnelRow() changeable {
	id, steps := "", []string{"viewed", "bought"}
	put := func(c *workshop, names ...string) {
		var list []map[string]string
		for _, name := range names {
			list = append(list, map[string]string{"kind": "event", "match": name})
		}
		body, err := json.Marshal(map[string]any{"name": c.next("Funnel"), "windowHours": 1, "steps": list})
		if err != nil {
			c.t.Fatal(err)
		}
		if id == "" {
			id = c.manage("POST", "/funnels", string(body))["id"].(string)
		} else {
			c.manage("PUT", "/funnels/"+id, string(body))
		}
		steps = names
	}
	return changeable{
		entity: "funnel",
		create: func(c *workshop) { put(c, "viewed", "bought") },
		changes: []change{
			{"name", func(c *workshop) { put(c, "viewed", "bought") }},
			{"one more step", func(c *workshop) { put(c, "viewed", "bought", "praised") }},
			{"other steps", func(c *workshop) { put(c, "searched", "asked") }},
		},
		works: func(c *workshop) {
			visitor, at := c.next("visitor"), time.Now().Add(-time.Minute)
			var items []map[string]any
			for n, name := range steps {
				one := eventItem(name, visitor)
				one["ts"] = at.Add(time.Duration(n) * time.Second).UTC().Format(time.RFC3339Nano)
				items = append(items, one)
			}
			through := func() float64 {
				shown := c.get(appPath + "/funnels/" + id + "/results?range=24h")["steps"].([]any)
				if len(shown) != len(steps) {
					c.t.Fatalf("the steps are %v, want %q", shown, steps)
				}
				return shown[len(shown)-1].(map[string]any)["entered"].(float64)
			}
			c.grows("the visitor is at the last step", 1, through, items...)
		},
	}
}

// segmentRow is a segment. A person that meets it is a member and is selected by filter=segment.
func segmentRow() changeable {
	id := ""
	item := func(person string) map[string]any { return eventItem("ordered", person) }
	put := func(c *workshop, body string) { c.manage("POST", "/segments", fmt.Sprintf(`{"id":%q,%s}`, id, body)) }
	const (
		ordered = `"definition":{"all":[{"field":"did_event","op":"gte","value":1,"event":{"name":"ordered"}}]}`
		onPro   = `"definition":{"all":[{"field":"trait.plan","op":"eq","value":"pro"}]}`
	)
	return changeable{
		entity: "segment",
		create: func(c *workshop) {
			id = c.manage("POST", "/segments", `{"name":"Buyers",`+ordered+`}`)["id"].(string)
		},
		changes: []change{
			{"name", func(c *workshop) { put(c, `"name":"Customers",`+ordered) }},
			{"definition", func(c *workshop) {
				put(c, `"name":"Customers",`+onPro)
				item = func(person string) map[string]any {
					return map[string]any{"type": "identify", "distinctId": person, "traits": map[string]any{"plan": "pro"}}
				}
			}},
		},
		works: func(c *workshop) {
			person := c.next("person")
			members := func() float64 {
				for _, row := range c.get(appPath + "/segments")["data"].([]any) {
					if one := row.(map[string]any); one["id"] == id {
						return one["memberCount"].(float64)
					}
				}
				return -1
			}
			visitors := func() float64 {
				count, _ := c.get(appPath + "/analytics/overview?range=24h&filter=segment:" + id)["visitors"].(float64)
				return count
			}
			before := visitors()
			c.grows("the person is a member", 1, members, item(person), map[string]any{"type": "page", "distinctId": person, "path": "/"})
			eventually(c.t, "the filter selects the person", func() error {
				if got := visitors(); got != before+1 {
					return fmt.Errorf("%v visitors, want %v", got, before+1)
				}
				return nil
			})
		},
	}
}

// flagRow is a flag. Native evaluation and OFREP serve the values of the definition.
func flagRow() changeable {
	const key = "reused"
	plain, beta := true, true
	put := func(name, rules string, enabled bool, rollout int, forPlain, forBeta bool) change {
		return change{name, func(c *workshop) {
			c.putFlag(key, fmt.Sprintf(`{"name":"Reused","kind":"boolean","rules":[%s],"environments":{"production":{"enabled":%t,"rolloutPercent":%d}}}`, rules, enabled, rollout))
			plain, beta = forPlain, forBeta
		}}
	}
	const rule = `{"id":"beta","conditions":[{"field":"trait.plan","op":"eq","value":"beta"}],"variant":"on","rolloutPercent":100}`
	return changeable{
		entity: "flag",
		create: put("", "", true, 100, true, true).do,
		changes: []change{
			put("rollout", "", true, 0, false, false),
			put("rules", rule, true, 0, false, true),
			put("off", rule, false, 0, false, false),
			put("on", rule, true, 0, false, true),
			{"archived", func(c *workshop) {
				c.manage("DELETE", "/flags/"+key, "")
				plain, beta = false, false
			}},
			put("made again", rule, true, 0, false, true),
		},
		works: func(c *workshop) {
			public := c.boot.Keys["production"].Public
			for plan, want := range map[string]bool{"free": plain, "beta": beta} {
				visitor := c.next("visitor")
				eventually(c.t, "the flag is served on plan "+plan, func() error {
					if got := c.evaluateFlags(fmt.Sprintf(`{"distinctId":%q,"context":{"plan":%q}}`, visitor, plan)).Flags[key]; got.Enabled != want {
						return fmt.Errorf("the native answer is %+v, want %t", got, want)
					}
					status, text, _ := c.sendFlags("POST", "/ofrep/v1/evaluate/flags/"+key, public, fmt.Sprintf(`{"context":{"targetingKey":%q,"plan":%q}}`, visitor, plan))
					if value, _ := object(c.t, text)["value"].(bool); value != want || want && status != http.StatusOK {
						return fmt.Errorf("OFREP answers %d %s, want %t", status, text, want)
					}
					return nil
				})
			}
		},
	}
}

// annotationRow is an annotation. Readers find its last written state.
func annotationRow() changeable {
	id, title, at := "", "Launch", time.Now().UTC().Truncate(time.Second)
	put := func(c *workshop) {
		body := fmt.Sprintf(`"title":%q,"at":%q,"kind":"note"`, title, at.Format(time.RFC3339))
		if id != "" {
			body = fmt.Sprintf(`"id":%q,`, id) + body
		}
		id = c.manage("POST", "/annotations", "{"+body+"}")["id"].(string)
	}
	return changeable{
		entity: "annotation",
		create: put,
		changes: []change{
			{"title", func(c *workshop) { title = "Launch day"; put(c) }},
			{"time", func(c *workshop) { at = at.Add(-time.Hour); put(c) }},
		},
		works: func(c *workshop) {
			var found []any
			for _, row := range c.get(appPath + "/annotations?range=7d")["data"].([]any) {
				if one := row.(map[string]any); one["id"] == id {
					found = append(found, one["title"], one["at"])
				}
			}
			if got, want := fmt.Sprint(found), fmt.Sprint([]any{title, at.Format("2006-01-02T15:04:05.000Z")}); got != want {
				c.t.Errorf("the annotation is %s, want %s", got, want)
			}
		},
	}
}
