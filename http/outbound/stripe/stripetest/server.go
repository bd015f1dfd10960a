package stripetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// refusal is an error of the API.
type refusal struct {
	status        int
	kind, code    string
	message, more string
}

// ServeHTTP answers as Stripe's API does.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.URL.Path)
	var fault Fault
	if len(a.faults) > 0 {
		fault, a.faults = a.faults[0], a.faults[1:]
	}
	w.Header().Set("Date", a.Now().UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	if fault.Status != 0 {
		if fault.RetryAfter != "" {
			w.Header().Set("Retry-After", fault.RetryAfter)
		}
		refuse(w, refusal{status: fault.Status, kind: "api_error", message: "A made-up fault."})
		return
	}
	answer, refused := a.answer(r)
	if refused != nil {
		refuse(w, *refused)
		return
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	if fault.Half {
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = w.Write(text[:len(text)/2])
		return
	}
	_, _ = w.Write(text)
}

func refuse(w http.ResponseWriter, r refusal) {
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(Object{"error": Object{"type": r.kind, "code": r.code, "message": r.message + r.more}})
}

// answer returns the requested object or list.
func (a *Account) answer(r *http.Request) (any, *refusal) {
	switch key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); {
	case r.Method != http.MethodGet:
		return nil, &refusal{status: 403, kind: "invalid_request_error", message: "The key reads only."}
	case key != a.Key:
		return nil, &refusal{status: 401, kind: "invalid_request_error", message: "Invalid API Key provided: ", more: key}
	case r.Header.Get("Stripe-Version") != "2025-02-24.acacia":
		return nil, &refusal{status: 400, kind: "invalid_request_error", message: "Invalid Stripe API version."}
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	query := r.URL.Query()
	for _, path := range query["expand[]"] {
		if strings.Count(path, ".") > 3 {
			return nil, &refusal{status: 400, kind: "invalid_request_error", message: "You cannot expand more than 4 levels of a property."}
		}
	}
	switch {
	case len(parts) == 1 && parts[0] == "events":
		return a.page(a.events, query, func(o Object) bool { return slices.Contains(query["types[]"], o["type"].(string)) && within(o, query) })
	case len(parts) == 1:
		return a.page(a.lists[parts[0]], query, func(o Object) bool { return matches(o, query) })
	case len(parts) == 2 && a.byID[parts[1]] != nil:
		shown := clone(a.byID[parts[1]])
		for _, path := range query["expand[]"] {
			a.expand(shown, strings.Split(path, "."))
		}
		return hide(shown), nil
	}
	return nil, &refusal{status: 404, kind: "invalid_request_error", code: "resource_missing", message: "No such object."}
}

func within(o Object, query url.Values) bool {
	from, _ := strconv.ParseInt(query.Get("created[gte]"), 10, 64)
	to, _ := strconv.ParseInt(query.Get("created[lte]"), 10, 64)
	return created(o) >= from && created(o) <= to
}

func matches(o Object, query url.Values) bool {
	for _, name := range []string{"customer", "charge"} {
		if want := query.Get(name); want != "" && o[name] != want {
			return false
		}
	}
	return query.Get("status") == "all" || o["object"] != "subscription" || o["status"] != "canceled"
}

// page returns a page of a list.
func (a *Account) page(all []Object, query url.Values, keep func(Object) bool) (any, *refusal) {
	limit := 10
	if text := query.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > 100 {
			return nil, &refusal{status: 400, kind: "invalid_request_error", code: "parameter_invalid_integer", message: "Invalid limit."}
		}
	}
	rows := newestFirst(all)
	if after := query.Get("starting_after"); after != "" {
		at := slices.IndexFunc(rows, func(o Object) bool { return o["id"] == after })
		if at < 0 {
			return nil, &refusal{status: 400, kind: "invalid_request_error", code: "resource_missing", message: fmt.Sprintf("No such object: %q", after)}
		}
		rows = rows[at+1:]
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(o Object) bool { return !keep(o) })
	more := len(rows) > limit
	rows = rows[:min(len(rows), limit)]
	shown := make([]any, len(rows))
	for n := range rows {
		shown[n] = map[string]any(clone(rows[n]))
	}
	answer := Object{"object": "list", "data": shown, "has_more": more}
	for _, path := range query["expand[]"] {
		a.expand(answer, strings.Split(path, "."))
	}
	return hide(answer), nil
}

// expand replaces ids by their objects along a path.
func (a *Account) expand(at any, path []string) {
	switch value := at.(type) {
	case Object:
		a.expand(map[string]any(value), path)
	case []any:
		for _, one := range value {
			a.expand(one, path)
		}
	case map[string]any:
		if len(path) == 1 {
			value[path[0]] = a.resolved(value, path[0])
			return
		}
		if id, ok := value[path[0]].(string); ok && a.byID[id] != nil {
			value[path[0]] = map[string]any(clone(a.byID[id]))
		}
		a.expand(value[path[0]], path[1:])
	}
}

// resolved returns a member with the objects in place of ids.
func (a *Account) resolved(of map[string]any, name string) any {
	switch value := of[name].(type) {
	case string:
		if a.byID[value] != nil {
			return map[string]any(clone(a.byID[value]))
		}
	case []any:
		all := slices.Clone(value)
		for n := range all {
			if id, ok := all[n].(string); ok && a.byID[id] != nil {
				all[n] = map[string]any(clone(a.byID[id]))
			}
		}
		return all
	case nil:
		return of["_"+name]
	}
	return of[name]
}

// hide removes members that only expansion shows.
func hide(at any) any {
	switch value := at.(type) {
	case Object:
		return hide(map[string]any(value))
	case []any:
		for n := range value {
			value[n] = hide(value[n])
		}
	case map[string]any:
		for name := range value {
			if strings.HasPrefix(name, "_") {
				delete(value, name)
				continue
			}
			value[name] = hide(value[name])
		}
	}
	return at
}
