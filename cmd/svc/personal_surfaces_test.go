package main

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/domain"
	"svc/http/route"
)

// plantDefinitions names the planted texts in every kind of definition, as the owner. It returns the ids by their
// nouns.
func (s *server) plantDefinitions(t *testing.T) map[string]string {
	t.Helper()
	email, session := planted["e-mail"], s.session()
	made := func(method, path, body string) string {
		t.Helper()
		token := s.boot.Token
		if strings.HasPrefix(path, "/console") {
			token = session
		}
		got := s.call(method, path, token, []byte(strings.NewReplacer("$email", email, "$name", planted["name"], "$phone", planted["phone"]).Replace(body)), nil)
		if got.status >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
		}
		id, _ := object(t, got.body)["id"].(string)
		return id
	}
	rule := `{"conditions":[{"field":"trait.email","op":"starts_with","value":"$email"},{"field":"distinctId","op":"eq","value":"$email"},{"field":"trait.name","op":"in","value":["$name"]}]}`
	flag := `{"name":"For $email","description":"$phone","kind":"boolean","rules":[` + rule + `],"environments":{"production":{"enabled":true}}}`
	made("PUT", appPath+"/flags/plant", flag)
	made("PUT", appPath+"/flags/plant", strings.Replace(flag, "For ", "Of ", 1))
	return map[string]string{
		"flags":        "plant",
		"funnels":      made("POST", appPath+"/funnels", `{"name":"F $email","steps":[{"kind":"event","match":"checkout","filters":[{"property":"property.email","op":"contains","value":"$email"},{"property":"property.name","op":"eq","value":"$name"}]},{"kind":"path","match":"/u/$email"}],"windowHours":24}`),
		"segments":     made("POST", appPath+"/segments", `{"name":"S $email","kind":"dynamic","definition":{"all":[{"field":"trait.email","op":"eq","value":"$email"},{"field":"trait.name","op":"eq","value":"$name"}]}}`),
		"goals":        made("POST", appPath+"/goals", `{"name":"G $email","kind":"path","match":"/u/$email"}`),
		"annotations":  made("POST", appPath+"/annotations", `{"at":"2026-11-20T10:00:00Z","title":"$email called","text":"from $phone"}`),
		"alerts":       made("POST", appPath+"/alerts", `{"name":"A $email","kind":"metric","threshold":1,"comparator":"gt","windowMinutes":5,"severity":"warning","condition":{"name":"latency","agg":"avg","labels":{"user":"$email","phone":"$phone"}}}`),
		"destinations": made("POST", "/console"+destinationsPath, `{"kind":"webhook","name":"D $email","enabled":false,"mapping":[{"event":"checkout","destinationEvent":"C $email"}],"config":{"url":"https://127.0.0.1:1/hook/$email","personFields":"plain"}}`),
	}
}

// forms returns the forms in which an answer may contain a planted text.
func forms(word string) []string {
	quoted, _ := json.Marshal(word)
	return []string{word, url.QueryEscape(word), url.PathEscape(word), strings.Trim(string(quoted), `"`), strings.ReplaceAll(word, "@", `\u0040`), base64Of(word), sha256Of(word), md5Of(word)}
}

// leaks returns the planted texts that an answer contains in any form.
func leaks(body []byte) (found []string) {
	text := bytes.ToLower(body)
	for what, word := range planted {
		for _, form := range append(forms(word), forms(strings.ToLower(word))...) {
			if bytes.Contains(text, bytes.ToLower([]byte(form))) {
				found = append(found, what)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// placed inserts ids into the path of a row, by the noun before each id.
func placed(row route.Route, ids, definitions map[string]string) string {
	path := row.Path
	for noun, id := range definitions {
		for _, name := range []string{"{id}", "{key}"} {
			path = strings.Replace(path, "/"+noun+"/"+name, "/"+noun+"/"+id, 1)
		}
	}
	row.Path = path
	return filled(row, ids)
}

// parameters returns the names of the text parameters of a row.
func parameters(in reflect.Type) (names []string) {
	if in == nil || in.Kind() != reflect.Struct {
		return nil
	}
	for i := range in.NumField() {
		field := in.Field(i)
		if name := field.Tag.Get("query"); name != "" {
			names = append(names, strings.Replace(name, "<key>", "user", 1))
		} else if field.Anonymous {
			names = append(names, parameters(field.Type)...)
		}
	}
	return names
}

// callers returns the callers without the right to see personal data, each with its token or session.
func (s *server) callers(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"viewer's token": s.viewerToken(t), "member's session": s.seated("mo@acme.example", "member")}
}

var requestIDs = regexp.MustCompile(`req_[0-9A-Z]+|"(at|generatedAt|asOf)":"[^"]*"`)

// TestNoSurfaceShowsOrConfirmsPersonalData requests every row of the table as every caller without people.pii.read. No
// answer contains a planted text in any form. No parameter distinguishes a planted text from a text that no person has.
// A new row is covered as well.
func TestNoSurfaceShowsOrConfirmsPersonalData(t *testing.T) {
	s := startServer(t, t.TempDir(), watched())
	ids := s.plant(t)
	definitions := s.plantDefinitions(t)
	callers := s.callers(t)
	seen := map[string]bool{}
	for _, row := range s.node.handler.Routes() {
		if row.Method != http.MethodGet || row.Surface != route.Manage && row.Surface != route.Console || row.Handler.Lined() || strings.Contains(row.Operation, "tail") {
			continue
		}
		for caller, secret := range callers {
			if (row.Surface == route.Console) != strings.HasSuffix(caller, "session") {
				continue
			}
			s.surfaceIsMasked(t, caller, secret, row, placed(row, ids, definitions))
		}
		if row.Surface == route.Manage {
			owner := s.call("GET", placed(row, ids, definitions), s.boot.Token, nil, map[string]string{"Accept": "application/json"})
			seen[row.Operation] = len(leaks(owner.body)) > 0
		}
	}
	for _, operation := range []string{"events.list", "flags.list", "flags.get", "flags.history", "funnels.list", "funnels.get", "segments.list", "goals.list", "alerts.list", "destinations.list"} {
		if !seen[operation] {
			t.Errorf("%s shows the owner none of the planted texts", operation)
		}
	}
}

// surfaceIsMasked requests a row without parameters, and with each of its parameters.
func (s *server) surfaceIsMasked(t *testing.T, caller, secret string, row route.Route, path string) {
	t.Helper()
	header := map[string]string{"Accept": "application/json"}
	ask := func(query string) answer {
		got := s.call("GET", path+"?"+query, secret, nil, header)
		// The refusal of a parameter may at most repeat the caller's own text.
		if found := leaks(got.body); len(found) > 0 && got.status < 400 {
			t.Errorf("%s shows %v to a %s with %q: %s", row.Operation, found, caller, query, excerpt(got.body))
		}
		return got
	}
	ask("")
	for _, name := range parameters(row.Handler.Input) {
		if name == "cursor" || name == "limit" {
			continue
		}
		for _, prefix := range []string{"", "path:", "utm_source:", "property.email:"} {
			known := ask(name + "=" + url.QueryEscape(prefix+planted["e-mail"]))
			other := ask(name + "=" + url.QueryEscape(prefix+"zephyrine.quxx@plant.example"))
			plain := func(got answer) string {
				text := strings.ReplaceAll(string(requestIDs.ReplaceAll(got.body, nil)), planted["e-mail"], "*")
				return fmt.Sprint(got.status, strings.ReplaceAll(text, "zephyrine.quxx@plant.example", "*"))
			}
			if plain(known) != plain(other) {
				t.Errorf("%s?%s=%s confirms a planted text to a %s:\n%.300s\n%.300s", row.Operation, name, prefix, caller, plain(known), plain(other))
			}
		}
	}
}

// TestDefinitionsOfPersonalDataNeedTheRight tries to define, preview and send masked data.
func TestDefinitionsOfPersonalDataNeedTheRight(t *testing.T) {
	s := startServer(t, t.TempDir(), watched())
	ids := s.plant(t)
	definitions := s.plantDefinitions(t)
	member := s.seated("mo@acme.example", "member")
	user, err := s.node.identity.KnownUser(t.Context(), "mo@acme.example")
	if err != nil {
		t.Fatal(err)
	}
	_, minted, err := s.node.identity.MintToken(t.Context(), domain.TokenOwner{User: user}, domain.TokenSpec{Name: "member", Scopes: domain.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	condition := func(field, op, value string) string {
		return `{"name":"x","kind":"boolean","rules":[{"conditions":[{"field":"` + field + `","op":"` + op + `","value":"` + value + `"}]}],"environments":{"production":{"enabled":true}}}`
	}
	step := func(property, op, value string) string {
		return `{"name":"x","steps":[{"kind":"event","match":"a","filters":[{"property":"` + property + `","op":"` + op + `","value":"` + value + `"}]},{"kind":"event","match":"b"}],"windowHours":1}`
	}
	destination := `{"kind":"webhook","name":"x","mapping":[{"event":"a"}],"config":{"url":"https://127.0.0.1:1/mine","personFields":"`
	cases := map[string]struct {
		method, path, body string
		allowed            bool
	}{
		"flag on a trait":                {"PUT", "/flags/x1", condition("trait.email", "starts_with", "a"), false},
		"flag on an odd name":            {"PUT", "/flags/x2", condition("trait.workPhone", "eq", "1"), false},
		"flag on a part of a trait":      {"PUT", "/flags/x3", condition("trait.plan", "contains", "a"), false},
		"flag on an address":             {"PUT", "/flags/x4", condition("distinctId", "eq", planted["e-mail"]), false},
		"flag with a masked value":       {"PUT", "/flags/x5", condition("distinctId", "eq", domain.MaskText(planted["e-mail"])), false},
		"plain flag":                     {"PUT", "/flags/x6", condition("trait.plan", "eq", "pro"), true},
		"preview of a personal flag":     {"POST", "/flags/" + definitions["flags"] + "/preview", `{"distinctId":"u-1"}`, false},
		"preview with an address":        {"POST", "/flags/x6/preview", `{"distinctId":"` + planted["e-mail"] + `"}`, false},
		"funnel on a property":           {"POST", "/funnels", step("property.email", "contains", "a"), false},
		"funnel on a part of an address": {"POST", "/funnels", step("url", "contains", "/u/z"), false},
		"plain funnel":                   {"POST", "/funnels", step("country", "eq", "DE"), true},
		"goal that spells a path":        {"POST", "/goals", `{"name":"x","kind":"path","match":"/u/z*"}`, false},
		"goal on an address":             {"POST", "/goals", `{"name":"x","kind":"path","match":"/u/` + planted["e-mail"] + `"}`, false},
		"plain goal":                     {"POST", "/goals", `{"name":"x","kind":"path","match":"/docs/*"}`, true},
		"segment on a trait":             {"POST", "/segments", `{"name":"x","kind":"dynamic","definition":{"all":[{"field":"trait.ssn","op":"eq","value":"1"}]}}`, false},
		"preview of a segment":           {"POST", "/segments/preview", `{"definition":{"all":[{"field":"trait.phone","op":"exists"}]}}`, false},
		"plain destination":              {"CONSOLE", "/destinations", destination + `plain"}}`, false},
		"hashed destination":             {"CONSOLE", "/destinations", destination + `hashed"}}`, false},
		"destination by default":         {"CONSOLE", "/destinations", strings.Replace(destination, `,"personFields":"`, `}}`, 1), false},
		"destination without persons":    {"CONSOLE", "/destinations", destination + `none"}}`, true},
		"rule on a value property":       {"CONSOLE", "/destinations", strings.Replace(destination, `{"event":"a"}`, `{"event":"a","valueProperty":"phone"}`, 1) + `none"}}`, false},
		"another's destination moved":    {"CONSOLE-PATCH", "/destinations/" + definitions["destinations"], `{"name":"y"}`, false},
		"person by address":              {"GET", "/people/" + planted["e-mail"], "", false},
		"breakdown by a personal field":  {"GET", "/funnels/" + definitions["funnels"] + "/results?range=24h&breakdown=property.customer_name", "", false},
		"person by id":                   {"GET", "/people/" + ids["person"], "", true},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		one := cases[name]
		method, base, secret := one.method, appPath, minted.Reveal()
		if rest, console := strings.CutPrefix(method, "CONSOLE"); console {
			method, base, secret = "POST", "/console"+appPath, member
			if rest != "" {
				method = rest[1:]
			}
		}
		got := s.call(method, base+one.path, secret, []byte(one.body), nil)
		refused := got.status == 403 && bytes.Contains(got.body, []byte(`"personal_data"`))
		if refused == one.allowed || one.allowed && got.status >= 300 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

func base64Of(word string) string { return base64.RawStdEncoding.EncodeToString([]byte(word)) }

func sha256Of(word string) string {
	sum := sha256.Sum256([]byte(word))
	return hex.EncodeToString(sum[:])
}

func md5Of(word string) string {
	sum := md5.Sum([]byte(word))
	return hex.EncodeToString(sum[:])
}
