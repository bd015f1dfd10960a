package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/route"
)

// Target reads the present state of a call's target, and returns the effect of the call. For a write it is the effect
// in the table of reaches (see [reach]), otherwise the effect of the route. The stored state decides, independently of
// the environment that the call names.
//
// Target fails with not_found if a write names a target that does not exist. It also fails if the target cannot be
// read: a call with an unknown effect is not made.
func (r *Registry) Target(ctx context.Context, secret domain.Secret, ref domain.AppRef, name string, input json.RawMessage) (conversation.Target, error) {
	called := r.byName[name]
	if called == nil {
		return conversation.Target{}, domain.NotFound("tool")
	}
	members := map[string]json.RawMessage{}
	if err := domain.DecodeJSON(orEmpty(input), &members); err != nil || members == nil {
		return conversation.Target{}, domain.Invalid(domain.FieldError{Code: "invalid_type", Message: "The input must be an object."})
	}
	target := conversation.Target{Effect: called.tool.Effect}
	if target.Effect == conversation.EffectRead {
		return target, nil
	}
	var err error
	if _, named := members[memberID]; called.before != nil && (named || !called.before.upsert) {
		if target.Shown, err = r.stored(ctx, secret, ref, called, members); err != nil {
			return conversation.Target{}, err
		}
		if target.Shown == nil && target.Effect == conversation.EffectWrite {
			return conversation.Target{}, domain.NotFound(called.noun)
		}
		target.Before = called.before.decided(target.Shown)
	}
	if target.Effect == conversation.EffectWrite {
		if target.Effect, err = r.effectOf(ctx, secret, ref, called, members, target.Shown); err != nil {
			return conversation.Target{}, err
		}
	}
	return target, nil
}

// memberID is the member of a body with the id of the changed object, for routes that both make and change.
const memberID = "id"

// reading describes how to read the state of a target.
type reading struct {
	path string
	// query selects the longest pages and the rows of all environments, as far as the route can.
	query url.Values
	// id is the parameter that names the row of a list; if it is empty, the path itself is read.
	id string
	// upsert is true if id is a member of the body; without it the call makes a new object.
	upsert bool
	// observed lists the members of the state that the service measures. They change without a decision of people, so a
	// change of them alone does not make another target.
	observed []string
}

// stored reads the state of a target, nil if it does not exist.
func (r *Registry) stored(ctx context.Context, secret domain.Secret, ref domain.AppRef, called *entry, members map[string]json.RawMessage) (json.RawMessage, error) {
	where, query := called.before, maps.Clone(called.before.query)
	path, err := fillPath(where.path, ref, members)
	if err != nil {
		return nil, err
	}
	if called.reach != nil && called.reach.place == ofParameter {
		query.Set(memberEnv, environmentNamed(members, memberEnv))
	}
	if where.id == "" {
		return r.read(ctx, secret, path, query)
	}
	id := textOf(members[where.id])
	if where.upsert && json.Unmarshal(members[where.id], &id) != nil || id == "" {
		return nil, domain.Invalid(domain.FieldError{Field: where.id, Code: "invalid_type", Message: fmt.Sprintf("The member %s names the %s to change; leave it out to make one.", where.id, called.noun)})
	}
	var found json.RawMessage
	err = r.rows(ctx, secret, path, query, func(row json.RawMessage, named map[string]json.RawMessage) bool {
		if textOf(named["id"]) == id || textOf(named["key"]) == id {
			found = row
		}
		return found == nil
	})
	return found, err
}

// decided returns the part of a state that people decide about.
func (w *reading) decided(shown json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if len(w.observed) == 0 || json.Unmarshal(shown, &members) != nil {
		return shown
	}
	for _, name := range w.observed {
		delete(members, name)
	}
	kept, err := json.Marshal(members)
	if err != nil {
		return shown
	}
	return kept
}

// readingOf finds the read for the state of a route's target: GET of the same path, else of the path that ends with the
// target's id, or the list above it. A route without an id in its path makes a new object, which has no previous state.
// The exceptions are a path that can be read itself, and a body that names an object of the list at the same path.
func readingOf(row *route.Route, routes []route.Route) *reading {
	if row.Effect == conversation.EffectRead || names(row.Handler.Input, "ids") { // Several objects have no single state to compare.
		return nil
	}
	where := reading{}
	find := func(path, id string) bool {
		at := slices.IndexFunc(routes, func(other route.Route) bool {
			return other.Surface == row.Surface && other.Method == http.MethodGet && other.Path == path
		})
		if at < 0 {
			return false
		}
		where.path, where.id, where.observed = row.Surface.Base()+path, id, observedOf(routes[at].Handler.Output)
		where.query = wholeQuery(routes[at].Handler.Input)
		return true
	}
	if row.Method == http.MethodPost {
		if where.upsert = names(row.Handler.Input, memberID); where.upsert && find(row.Path, memberID) {
			return &where
		}
	} else if find(row.Path, "") {
		return &where
	}
	at := strings.LastIndexByte(row.Path, '{')
	id, _, _ := strings.Cut(row.Path[at+1:], "}")
	if at < 0 || id == "org" || id == "app" {
		return nil
	}
	if find(row.Path[:at]+"{"+id+"}", "") {
		return &where
	}
	// The list's path may continue with a word, as in /destinations/test/{id}.
	for above := row.Path[:at-1]; above != "" && !strings.HasSuffix(above, "}"); above = above[:strings.LastIndexByte(above, '/')] {
		if find(above, id) {
			return &where
		}
	}
	return nil
}

// listQuery returns the query for the list at the path of a route, nil if there is no list.
func listQuery(row *route.Route, routes []route.Route) url.Values {
	at := slices.IndexFunc(routes, func(other route.Route) bool {
		return other.Surface == row.Surface && other.Method == http.MethodGet && other.Path == row.Path
	})
	if at < 0 {
		return nil
	}
	return wholeQuery(routes[at].Handler.Input)
}

// wholeQuery returns the query for the maximum number of rows per answer.
func wholeQuery(input reflect.Type) url.Values {
	query := url.Values{}
	for _, field := range reflect.VisibleFields(input) {
		name := field.Tag.Get("query")
		if all := field.Tag.Get("all"); all != "" {
			query.Set(name, all)
		}
		if name == "limit" {
			query.Set(name, strconv.Itoa(domain.MaxPageSize))
		}
	}
	return query
}

// nounOf returns the noun for one object of a route.
func nounOf(row *route.Route) string {
	noun, _, _ := strings.Cut(row.Operation, ".")
	return strings.TrimSuffix(noun, "s")
}

// names reports whether the JSON body of an input has a member.
func names(input reflect.Type, member string) bool {
	for _, field := range reflect.VisibleFields(input) {
		if _, body := field.Tag.Lookup("body"); body {
			_, found := memberOf(field.Type, member)
			return found
		}
	}
	return false
}

// memberOf returns the type of a member of a JSON object.
func memberOf(object reflect.Type, member string) (reflect.Type, bool) {
	if object.Kind() == reflect.Pointer {
		object = object.Elem()
	}
	if object.Kind() != reflect.Struct {
		return nil, false
	}
	for _, field := range reflect.VisibleFields(object) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name == member {
			return field.Type, true
		}
	}
	return nil, false
}

// rowOf returns the type of the rows of a list, or of the single object that a route answers.
func rowOf(output reflect.Type) reflect.Type {
	if data, list := memberOf(output, "data"); list && data.Kind() == reflect.Slice {
		return data.Elem()
	}
	return output
}

// observedOf lists the members of an answer that are tagged as observed.
func observedOf(output reflect.Type) (out []string) {
	row := rowOf(output)
	if row.Kind() != reflect.Struct {
		return nil
	}
	for _, field := range reflect.VisibleFields(row) {
		if field.Tag.Get("observed") == "true" {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			out = append(out, name)
		}
	}
	return out
}

// listPages bounds the pages of a list that are searched for a row.
const listPages = 20

// rows reads the rows of a list until see returns false.
func (r *Registry) rows(ctx context.Context, secret domain.Secret, path string, query url.Values, see func(row json.RawMessage, members map[string]json.RawMessage) bool) error {
	query = maps.Clone(query)
	for range listPages {
		var page struct {
			Data       []json.RawMessage `json:"data"`
			NextCursor *string           `json:"nextCursor"`
		}
		body, err := r.read(ctx, secret, path, query)
		if err != nil || body == nil {
			return err
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return fmt.Errorf("reading the state before: %w", err)
		}
		for _, row := range page.Data {
			var members map[string]json.RawMessage
			if json.Unmarshal(row, &members) == nil && !see(row, members) {
				return nil
			}
		}
		if page.NextCursor == nil {
			return nil
		}
		query.Set("cursor", *page.NextCursor)
	}
	return domain.Errorf(domain.CodeConflict, "The list is too long to find what the call would change.")
}

// read returns the body of a GET, nil if it is not found. It fails as the route does.
func (r *Registry) read(ctx context.Context, secret domain.Secret, path string, query url.Values) (json.RawMessage, error) {
	if encoded := query.Encode(); encoded != "" {
		path += "?" + encoded
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	outcome := r.send(request, secret)
	switch {
	case outcome.OK():
		return outcome.Body, nil
	case outcome.Status == http.StatusNotFound:
		return nil, nil
	}
	problem := domain.Error{Code: domain.CodeUnavailable, Message: "What the call would change could not be read."}
	var told struct {
		Code   domain.Code `json:"code"`
		Detail string      `json:"detail"`
	}
	if json.Unmarshal(outcome.Body, &told) == nil && told.Code != "" {
		problem = domain.Error{Code: told.Code, Message: "What the call would change could not be read: " + told.Detail}
	}
	return nil, &problem
}
