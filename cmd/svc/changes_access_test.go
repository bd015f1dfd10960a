package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/connector"
)

// accessRows lists the settings that decide which data are accepted, and which actions and data each user may access.
func accessRows(t *testing.T) []changeable {
	return []changeable{keyRow(), exclusionRow(), telemetryRow(), moduleRow(), originRow(), zoneRow(), memberRow(), shareRow(), connectorRow(t)}
}

// pageView is a page view of a visitor.
func pageView(id, path string) string {
	return fmt.Sprintf(`{"type":"page","id":%q,"distinctId":"ada","path":%q}`, id, path)
}

// arrives sends an item with a key, and waits until it is in the feed.
func (c *workshop) arrives(key, id, item string) {
	c.t.Helper()
	if got := c.call("POST", "/api/v1/batch", key, []byte(`{"items":[`+item+`]}`), nil); got.status != http.StatusAccepted {
		c.t.Fatalf("sending: %d %s", got.status, got.body)
	}
	eventually(c.t, "the item is in the feed", func() error {
		if rows := c.get(appPath + "/events?id=" + id)["data"].([]any); len(rows) != 1 {
			return fmt.Errorf("%d rows", len(rows))
		}
		return nil
	})
}

// secret is the secret key of production.
func (c *workshop) secret() string { return c.boot.Keys["production"].Secret }

// keyRow is an ingest key. Items that the key sends arrive, and revoked keys are refused.
func keyRow() changeable {
	var id, key string
	var revoked []string
	create := func(c *workshop) {
		made := c.manage("POST", "/keys", `{"kind":"secret","environment":"production","label":"Server"}`)
		id, key = made["id"].(string), made["key"].(string)
	}
	return changeable{
		entity: "key",
		create: create,
		changes: []change{{"revoked and replaced", func(c *workshop) {
			c.manage("DELETE", "/keys/"+id, "")
			revoked = append(revoked, key)
			create(c)
		}}},
		works: func(c *workshop) {
			one := c.next("page")
			c.arrives(key, one, pageView(one, "/"))
			for _, old := range revoked {
				if got := c.call("POST", "/api/v1/batch", old, []byte(`{"items":[]}`), nil); got.status != http.StatusUnauthorized {
					c.t.Errorf("a revoked key: %d %s", got.status, got.body)
				}
			}
		},
	}
}

// exclusionRow is the list of exclusions. Items that the list names are not stored. Other items of the same batch are
// stored.
func exclusionRow() changeable {
	excluded, kept := "/internal/a", "/help/a"
	put := func(c *workshop, items string) { c.manage("PUT", "/exclusions", `{"items":[`+items+`]}`) }
	return changeable{
		entity: "exclusions",
		create: func(c *workshop) { put(c, `{"kind":"path","value":"/internal/*"}`) },
		changes: []change{
			{"another path", func(c *workshop) {
				put(c, `{"kind":"path","value":"/help/*"}`)
				excluded, kept = "/help/a", "/internal/a"
			}},
			{"one more", func(c *workshop) {
				put(c, `{"kind":"path","value":"/help/*"},{"kind":"path","value":"/staff","label":"Staff"}`)
				excluded = "/staff"
			}},
			{"a label", func(c *workshop) {
				put(c, `{"kind":"path","value":"/help/*","label":"Help"},{"kind":"path","value":"/staff","label":"Staff"}`)
			}},
		},
		works: func(c *workshop) {
			out, in := c.next("page"), c.next("page")
			c.arrives(c.secret(), in, pageView(out, excluded)+","+pageView(in, kept))
			if rows := c.get(appPath + "/events?id=" + out)["data"].([]any); len(rows) != 0 {
				c.t.Errorf("the excluded page view is stored: %v", rows)
			}
		},
	}
}

// telemetryRow is the telemetry policy of production. Events are accepted, or dropped with a reason.
func telemetryRow() changeable {
	accepts := true
	policy := func(c *workshop, change string, accepted bool) {
		body := fmt.Sprintf(`{"expectedRevision":%v,"policy":%s}`, c.get(telemetryPath)["revision"], change)
		c.manage("POST", "/telemetry", body)
		accepts = accepted
	}
	works := func(c *workshop) {
		id := c.next("page")
		if accepts {
			c.arrives(c.secret(), id, pageView(id, "/"))
			return
		}
		if got := c.call("POST", "/api/v1/batch", c.secret(), []byte(`{"items":[`+pageView(id, "/")+`]}`), nil); got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "signal_off") {
			c.t.Errorf("with events off: %d %s", got.status, got.body)
		}
	}
	return changeable{
		entity: "telemetry",
		create: func(c *workshop) { policy(c, `{"events":{"dropBots":false}}`, true) },
		changes: []change{
			{"off", func(c *workshop) { policy(c, `{"events":{"enabled":false}}`, false) }},
			{"on", func(c *workshop) { policy(c, `{"events":{"enabled":true}}`, true) }},
			{"no sample and all", func(c *workshop) {
				policy(c, `{"events":{"sampleRate":0}}`, true)
				c.dropsAll()
				policy(c, `{"events":{"sampleRate":1}}`, true)
			}},
		},
		works: works,
	}
}

// dropsAll sends a page view, which is accepted and not stored.
func (c *workshop) dropsAll() {
	c.t.Helper()
	id := c.next("page")
	c.send(map[string]any{"type": "page", "id": id, "distinctId": "ada", "path": "/"})
	c.settled()
	if rows := c.get(appPath + "/events?id=" + id)["data"].([]any); len(rows) != 0 {
		c.t.Errorf("the page view is stored: %v", rows)
	}
}

// moduleRow is the switch of a module. Its routes answer 403 while it is off.
func moduleRow() changeable {
	var modules []string
	on := true
	put := func(c *workshop, list []string) {
		c.manage("PATCH", "", `{"modules":["`+strings.Join(list, `","`)+`"]}`)
	}
	return changeable{
		entity: "modules",
		create: func(c *workshop) {
			for _, one := range c.get(appPath)["modules"].([]any) {
				modules = append(modules, one.(string))
			}
		},
		changes: []change{
			{"off", func(c *workshop) {
				var others []string
				for _, one := range modules {
					if one != "errors" {
						others = append(others, one)
					}
				}
				put(c, others)
				on = false
			}},
			{"on", func(c *workshop) { put(c, modules); on = true }},
		},
		works: func(c *workshop) {
			read := c.call("GET", appPath+"/errors", c.boot.Token, nil, nil)
			sent := c.call("POST", "/api/v1/errors", c.secret(), []byte(`{"message":"It broke.","distinctId":"ada"}`), nil)
			if on && (read.status != http.StatusOK || sent.status != http.StatusAccepted) {
				c.t.Errorf("on: %d %s, %d %s", read.status, read.body, sent.status, sent.body)
			}
			if !on && (read.status != http.StatusForbidden || object(c.t, read.body)["code"] != "module_disabled" || sent.status < 400 || !strings.Contains(string(sent.body), "module_disabled")) {
				c.t.Errorf("off: %d %s, %d %s", read.status, read.body, sent.status, sent.body)
			}
		},
	}
}

// originRow is the list of origins from which browsers may send with a public key.
func originRow() changeable {
	allowed, refused := "https://shop.example", "https://other.example"
	put := func(c *workshop, origins string) { c.manage("PATCH", "", `{"allowedOrigins":[`+origins+`]}`) }
	return changeable{
		entity: "origins",
		create: func(c *workshop) { put(c, `"https://shop.example"`) },
		changes: []change{
			{"another", func(c *workshop) {
				put(c, `"https://other.example"`)
				allowed, refused = refused, allowed
			}},
			{"one more", func(c *workshop) {
				put(c, `"https://other.example","https://*.site.example"`)
				allowed = "https://www.site.example"
			}},
		},
		works: func(c *workshop) {
			for origin, want := range map[string]bool{allowed: true, refused: false} {
				got := c.call("POST", "/api/v1/batch", c.boot.Keys["production"].Public, []byte(`{"items":[`+pageView(c.next("page"), "/")+`]}`), map[string]string{"Origin": origin})
				if (got.status == http.StatusAccepted) != want {
					c.t.Errorf("from %s: %d %s, want accepted %t", origin, got.status, got.body, want)
				}
			}
		},
	}
}

// zoneRow is the time zone. The days of a series begin at its midnight.
func zoneRow() changeable {
	zone := ""
	put := func(name string) func(c *workshop) {
		return func(c *workshop) {
			c.manage("PATCH", "", fmt.Sprintf(`{"timezone":%q}`, name))
			zone = name
		}
	}
	return changeable{
		entity:  "time zone",
		create:  put("Europe/Berlin"),
		changes: []change{{"another", put("Asia/Tokyo")}, {"another again", put("America/New_York")}},
		works: func(c *workshop) {
			place, err := time.LoadLocation(zone)
			if err != nil {
				c.t.Fatal(err)
			}
			for _, point := range c.get(appPath + "/analytics/timeseries?range=7d&interval=day")["points"].([]any) {
				at, err := time.Parse(time.RFC3339, point.(map[string]any)["t"].(string))
				if local := at.In(place); err != nil || local.Hour() != 0 || local.Minute() != 0 {
					c.t.Errorf("a day begins at %v, in %s at %v: %v", at, zone, local, err)
				}
			}
		},
	}
}

// memberRow is a member. A role is in force from the next request on, and a removed member is refused.
func memberRow() changeable {
	const path = "/console/api/v1/orgs/acme/members/mia@acme.example"
	session, reads, writes := "", true, false
	role := func(name string, mayWrite bool) change {
		return change{name, func(c *workshop) {
			c.change("PUT", path, c.session, fmt.Sprintf(`{"role":%q}`, name))
			writes = mayWrite
		}}
	}
	return changeable{
		entity: "member",
		create: func(c *workshop) { session = c.seated("mia@acme.example", "viewer") },
		changes: []change{
			role("member", true), role("viewer", false), role("admin", true),
			{"removed", func(c *workshop) {
				c.change("DELETE", path, c.session, "")
				reads, writes = false, false
			}},
			{"seated again", func(c *workshop) {
				session = c.seated("mia@acme.example", "member")
				reads, writes = true, true
			}},
		},
		works: func(c *workshop) {
			list := c.call("GET", "/console/api/v1/orgs/acme/members", session, nil, nil)
			written := c.call("PATCH", "/console"+appPath+"/channels/nothing", session, []byte(`{"name":"x"}`), nil)
			wantWrite := map[bool]int{true: http.StatusNotFound, false: http.StatusForbidden}[writes]
			if !reads {
				if list.status != http.StatusNotFound && list.status != http.StatusUnauthorized || written.status != list.status {
					c.t.Errorf("removed: %d %s, %d %s", list.status, list.body, written.status, written.body)
				}
				return
			}
			if list.status != http.StatusOK || written.status != wantWrite {
				c.t.Errorf("reading: %d, writing: %d %s, want %d", list.status, written.status, written.body, wantWrite)
			}
		},
	}
}

// shareRow is the public page. Its link shows the chosen panels, and earlier links show nothing.
func shareRow() changeable {
	path, private := "", 3
	var old []string
	publish := func(c *workshop) { path, private = c.console("POST", "/share", "")["path"].(string), 3 }
	showPages := func(c *workshop) {
		c.console("PATCH", "/share", `{"pages":true}`)
		private = 2
	}
	return changeable{
		entity: "share",
		create: publish,
		changes: []change{
			{"configured", showPages},
			{"rotated", func(c *workshop) {
				old = append(old, path)
				path = c.console("POST", "/share/rotate", "")["path"].(string)
			}},
			{"disabled", func(c *workshop) {
				c.console("DELETE", "/share", "")
				old, path = append(old, path), ""
			}},
			{"published again", publish},
			{"configured again", showPages},
		},
		works: func(c *workshop) {
			for _, link := range old {
				if got := c.call("GET", link, "", nil, nil); got.status != http.StatusNotFound {
					c.t.Errorf("the earlier link %s: %d", link, got.status)
				}
			}
			if path == "" {
				return
			}
			got := c.call("GET", path, "", nil, nil)
			if hidden := strings.Count(string(got.body), "Not shared."); got.status != http.StatusOK || hidden != private {
				c.t.Errorf("the page: %d, %d panels are private, want %d", got.status, hidden, private)
			}
		},
	}
}

// connectorRow is the tenant connector. A probe reaches the configured address.
func connectorRow(t *testing.T) changeable {
	const known = domain.Secret("a-secret-of-some-length-and-shared")
	type handler struct {
		*httptest.Server
		asked atomic.Int64
	}
	serve := func() *handler {
		h := &handler{}
		h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var claims connector.Claims
			parts := strings.Split(r.Header.Get("Authorization"), ".")
			text, err := base64.RawURLEncoding.DecodeString(parts[min(1, len(parts)-1)])
			if err != nil || json.Unmarshal(text, &claims) != nil {
				t.Errorf("the token is %q", parts)
			}
			const body = `{"capabilities":["overview"],"version":"2.1"}`
			w.Header().Set("X-SVC-Signature", connector.Signature(known, claims.ID, []byte(body)))
			h.asked.Add(1)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(h.Close)
		return h
	}
	first, second := serve(), serve()
	current := first
	put := func(body string, at *handler) func(c *workshop) {
		return func(c *workshop) {
			c.console("PUT", "/connector", body)
			current = at
		}
	}
	return changeable{
		entity: "connector",
		create: put(fmt.Sprintf(`{"url":%q,"secret":%q}`, first.URL, known.Reveal()), first),
		changes: []change{
			{"url", put(fmt.Sprintf(`{"url":%q,"secret":%q}`, second.URL, known.Reveal()), second)},
			{"off and on", func(c *workshop) {
				put(fmt.Sprintf(`{"url":%q,"enabled":false}`, second.URL), second)(c)
				put(fmt.Sprintf(`{"url":%q,"enabled":true}`, second.URL), second)(c)
			}},
		},
		works: func(c *workshop) {
			before := current.asked.Load()
			got := c.console("POST", "/connector/probe", "")
			if shown, _ := got["connector"].(map[string]any); got["ok"] != true || shown["status"] != "healthy" || current.asked.Load() == before {
				c.t.Errorf("the probe answers %v after %d requests", got, current.asked.Load()-before)
			}
		},
	}
}
