package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// site is a target of monitors that can go down.
type site struct {
	*httptest.Server
	down   atomic.Bool
	checks atomic.Int64
}

func newSite(t *testing.T) *site {
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.checks.Add(1)
		if s.down.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// opened returns the incidents that the hook reported as open.
func (h *hook) opened() (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, body := range h.bodies {
		if body["event"] == "open" {
			ids = append(ids, body["incident"].(map[string]any)["id"].(string))
		}
	}
	return ids
}

// channel makes a channel of a hook and returns its id.
func (c *workshop) channel(hook *hook) string {
	return c.console("POST", "/channels", fmt.Sprintf(`{"name":"Pager","kind":"webhook","url":%q}`, hook.URL))["id"].(string)
}

// alertingRows lists the entities of monitoring.
func alertingRows(t *testing.T) []changeable {
	return []changeable{channelRow(t), monitorRow(t), alertRow(t), silenceRow(t)}
}

// channelRow is a webhook channel. A test notice arrives.
func channelRow(t *testing.T) changeable {
	first, second := newHook(t), newHook(t)
	id, current := "", first
	patch := func(c *workshop, body string) { c.console("PATCH", "/channels/"+id, body) }
	return changeable{
		entity: "channel",
		create: func(c *workshop) { id = c.channel(first) },
		changes: []change{
			{"name", func(c *workshop) { patch(c, `{"name":"Duty"}`) }},
			{"url", func(c *workshop) {
				patch(c, fmt.Sprintf(`{"url":%q}`, second.URL))
				current = second
			}},
		},
		works: func(c *workshop) {
			before := len(current.told())
			if got := c.manage("POST", "/channels/"+id+"/test", ""); got["ok"] != true || len(current.told()) != before+1 {
				c.t.Errorf("the test answers %v, and %d notices arrived", got, len(current.told())-before)
			}
		},
	}
}

// monitorRow is a monitor. The target receives further checks and is reported up.
func monitorRow(t *testing.T) changeable {
	first, second := newSite(t), newSite(t)
	id, current := "", first
	put := func(c *workshop, body string) { c.manage("POST", "/monitors", fmt.Sprintf(`{"id":%q,%s}`, id, body)) }
	return changeable{
		entity: "monitor",
		create: func(c *workshop) {
			id = c.manage("POST", "/monitors", fmt.Sprintf(`{"name":"Site","url":%q,"intervalSeconds":1,"confirmations":1}`, first.URL))["id"].(string)
		},
		changes: []change{
			{"name", func(c *workshop) { put(c, `"name":"Shop"`) }},
			{"url", func(c *workshop) {
				put(c, fmt.Sprintf(`"url":%q`, second.URL))
				current = second
			}},
			{"interval", func(c *workshop) { put(c, `"intervalSeconds":2`) }},
			{"off and on", func(c *workshop) {
				put(c, `"enabled":false`)
				put(c, `"enabled":true`)
			}},
		},
		works: func(c *workshop) {
			checks, from := current.checks.Load(), time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
			eventually(c.t, "the target is checked again", func() error {
				shown := c.get(appPath + "/monitors/" + id)
				if at, _ := shown["lastCheckedAt"].(string); current.checks.Load() <= checks || at < from || shown["lastStatus"] != "up" || shown["url"] != current.URL {
					return fmt.Errorf("%d checks, %v", current.checks.Load()-checks, shown)
				}
				return nil
			})
		},
	}
}

// outage is a rule about a monitor, with the site that the monitor checks.
type outage struct {
	site          *site
	monitor, rule string
}

// prepare makes the monitor and the rule.
func (o *outage) prepare(c *workshop, name, channel string) {
	o.monitor = c.manage("POST", "/monitors", fmt.Sprintf(`{"name":%q,"url":%q,"intervalSeconds":1,"confirmations":1}`, name, o.site.URL))["id"].(string)
	o.rule = c.manage("POST", "/alerts", fmt.Sprintf(`{"name":%q,"kind":"uptime","threshold":1,"comparator":"gte","windowMinutes":1,"cooldownMinutes":0,"condition":{"monitorId":%q},"channelIds":[%q]}`,
		name, o.monitor, channel))["id"].(string)
}

// change changes the rule.
func (o *outage) change(c *workshop, body string) {
	c.manage("POST", "/alerts", fmt.Sprintf(`{"id":%q,%s}`, o.rule, body))
}

// happens takes the site down until a check of the open incident succeeds. Afterwards the site is up and the incident
// is resolved.
func (o *outage) happens(c *workshop, check func(incident map[string]any) error) {
	c.t.Helper()
	up := func() error {
		if got := c.get(appPath + "/monitors/" + o.monitor); got["lastStatus"] != "up" {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	}
	eventually(c.t, "the monitor is up", up)
	o.site.down.Store(true)
	defer o.site.down.Store(false)
	id := ""
	eventually(c.t, "an incident opens", func() error {
		rows := c.get(appPath + "/incidents?limit=200")["data"].([]any)
		for _, row := range rows {
			if one := row.(map[string]any); one["ruleId"] == o.rule && one["status"] != "resolved" {
				id = one["id"].(string)
				return check(c.get(appPath + "/incidents/" + id))
			}
		}
		return fmt.Errorf("none of the rule in %v", rows)
	})
	o.site.down.Store(false)
	eventually(c.t, "the monitor is up again", up)
	c.console("POST", "/incidents/"+id+"/resolve", "")
}

// alertRow is an alert rule. An incident opens, and the channel is notified.
func alertRow(t *testing.T) changeable {
	first, second := newHook(t), newHook(t)
	current, at := first, &outage{site: newSite(t)}
	put := func(body string) func(c *workshop) { return func(c *workshop) { at.change(c, body) } }
	return changeable{
		entity: "alert",
		create: func(c *workshop) { at.prepare(c, "Down", c.channel(first)) },
		changes: []change{
			{"name", put(`"name":"Site is down"`)},
			{"threshold", put(`"threshold":2`)},
			{"severity", put(`"severity":"critical"`)},
			{"channel", func(c *workshop) {
				at.change(c, fmt.Sprintf(`"channelIds":[%q]`, c.channel(second)))
				current = second
			}},
			{"off and on", func(c *workshop) {
				at.change(c, `"enabled":false`)
				at.change(c, `"enabled":true`)
			}},
			{"monitor off and on", func(c *workshop) {
				for _, enabled := range []bool{false, true} {
					c.manage("POST", "/monitors", fmt.Sprintf(`{"id":%q,"enabled":%t}`, at.monitor, enabled))
				}
			}},
		},
		works: func(c *workshop) {
			at.happens(c, func(incident map[string]any) error {
				if opened := current.opened(); !slices.Contains(opened, incident["id"].(string)) {
					return fmt.Errorf("the channel was notified of %v, not of %v", opened, incident)
				}
				return nil
			})
		},
	}
}

// silenceRow is a maintenance window. Incidents in the window are recorded without a notice. Other incidents are
// notified.
func silenceRow(t *testing.T) changeable {
	hook, at := newHook(t), &outage{site: newSite(t)}
	id, other, silent := "", "", true
	put := func(silences bool, body func() string) func(c *workshop) {
		return func(c *workshop) {
			c.manage("POST", "/silences", fmt.Sprintf(`{"id":%q,%s}`, id, body()))
			silent = silences
		}
	}
	text := func(body string) func() string { return func() string { return body } }
	until := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	return changeable{
		entity: "silence",
		create: func(c *workshop) {
			at.prepare(c, "Quiet", c.channel(hook))
			other = c.manage("POST", "/alerts", `{"name":"Other","kind":"new_issue","channelIds":[]}`)["id"].(string)
			id = c.manage("POST", "/silences", fmt.Sprintf(`{"name":"Move","environment":"production","ruleId":%q,"endsAt":%q}`, at.rule, until(time.Hour)))["id"].(string)
		},
		changes: []change{
			{"name", put(true, text(`"name":"Moving"`))},
			{"another rule", put(false, func() string { return fmt.Sprintf(`"ruleId":%q`, other) })},
			{"the monitor", put(true, func() string { return fmt.Sprintf(`"ruleId":null,"monitorId":%q`, at.monitor) })},
			{"end", put(true, func() string { return fmt.Sprintf(`"endsAt":%q`, until(2*time.Hour)) })},
			{"all environments", put(true, text(`"environment":null`))},
		},
		works: func(c *workshop) {
			at.happens(c, func(incident map[string]any) error {
				notices := incident["notices"].([]any)
				switch {
				case silent && (incident["silenceId"] != id || len(notices) != 0):
					return fmt.Errorf("the silence does not cover %v", incident)
				case !silent && !slices.Contains(hook.opened(), incident["id"].(string)):
					return fmt.Errorf("nobody was notified of %v", incident)
				}
				return nil
			})
		},
	}
}
