package posthog

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/ingest"
)

// item is an item of the native batch.
type item map[string]any

// translation makes native items of events.
type translation struct {
	sent   time.Time
	items  []item
	flags  int
	losses []Loss
	// The traits of the request's items, by person, time and trait.
	told map[told]map[string]json.RawMessage
}

// A trait of a person at a time. Items of the same time have no order in the store, so only one of several values is
// sent.
type told struct {
	id, ts, trait string
	once          bool
}

// Codes of losses, in addition to domain.CodePlaceholderID.
const (
	codeKind       = "unsupported_event"    // These are recordings, automatic clicks and similar events.
	codeGroup      = "unsupported_group"    // This is a group that is not a company, on its own or among the properties of an event.
	codeNobody     = "group_without_person" // This is a company without one of its people.
	codeCookieless = "cookieless"           // This is a visitor that stores nothing on the device.
	codeTime       = "unreadable_time"
	codeTraits     = "traits_of_anonymous"
)

func (t *translation) add(one item) { t.items = append(t.items, one) }

// drop notes an event that is not stored.
func (t *translation) drop(signal ingest.Signal, code string) {
	t.losses = append(t.losses, Loss{Signal: signal, Code: code})
}

// strip notes a part of an event that is not stored.
func (t *translation) strip(signal ingest.Signal, code string) {
	t.losses = append(t.losses, Loss{Signal: signal, Code: code, Part: true})
}

// translate adds the items of an event.
func (t *translation) translate(e *capture) {
	shared, named := t.shared(e)
	if !named {
		return
	}
	e.prove(shared)
	switch e.Event {
	case "$feature_flag_called":
		t.flags++
	case "$autocapture", "$$heatmap", "$heatmap", "$snapshot", "$snapshot_items", "$performance_event", "$rageclick", "$dead_click", "$copy_autocapture", "$opt_in", "$$client_ingestion_warning":
		t.drop(ingest.SignalEvents, codeKind)
	case "$identify":
		shared["type"], shared["traits"] = "identify", t.traits(e, shared)
		switch other := idOf(e.Properties["$anon_distinct_id"]); {
		case other == "":
		case domain.IsPlaceholderID(other):
			t.strip(ingest.SignalEvents, lostID(other))
		default:
			shared["anonymousId"] = other
		}
		t.add(shared)
	case "$set", "$unset":
		shared["type"], shared["traits"] = "identify", t.traits(e, shared)
		t.add(shared)
	case "$create_alias", "$merge_dangerously":
		shared["type"], shared["previousId"] = "alias", idOf(e.Properties["alias"])
		t.add(shared)
	case "$groupidentify":
		t.group(e, shared)
	case "$exception":
		t.exception(e, shared)
	case "$web_vitals":
		t.vitals(e, shared)
	default:
		t.event(e, shared)
	}
}

// lostID returns the reason why an id does not count.
func lostID(id string) string {
	if id == domain.CookielessID {
		return codeCookieless
	}
	return domain.CodePlaceholderID
}

// kindOf returns the signal of an event's items, and whether they are stored for a visitor without an id.
func kindOf(event string) (signal ingest.Signal, nameless bool) {
	switch event {
	case "$exception":
		return ingest.SignalErrors, true
	case "$web_vitals":
		return ingest.SignalMetrics, true
	}
	return ingest.SignalEvents, false
}

// identify sets the ids of the person of an item. named is false if no id is usable, and then the event is dropped. A
// placeholder id is replaced by the device's id, unless the event is about the person itself.
func (t *translation) identify(e *capture, one item) (named bool) {
	distinct := idOf(e.DistinctID)
	if distinct == "" {
		distinct = idOf(e.Properties["distinct_id"])
	}
	device := idOf(e.Properties["$device_id"])
	if domain.IsPlaceholderID(device) {
		device = ""
	}
	known := string(e.Properties["$is_identified"]) != "false" && e.text("$user_state") != "anonymous"
	switch {
	case distinct == "" || !domain.IsPlaceholderID(distinct):
	case slices.Contains([]string{"$identify", "$set", "$unset", "$create_alias", "$merge_dangerously", "$groupidentify"}, e.Event):
		t.drop(ingest.SignalEvents, lostID(distinct))
		return false
	default:
		signal, nameless := kindOf(e.Event)
		if device == "" && !nameless {
			t.drop(signal, lostID(distinct))
			return false
		}
		if signal != ingest.SignalMetrics { // Vitals belong to no person.
			t.strip(signal, lostID(distinct))
		}
		distinct, known = device, false
	}
	switch {
	case known:
		one["distinctId"] = distinct
		if device != "" && device != distinct {
			one["anonymousId"] = device
		}
	case distinct != "":
		one["anonymousId"] = distinct
	}
	return true
}

// shared returns the common members of all kinds of items: ids, time, page and context. If named is false, the event is
// dropped.
func (t *translation) shared(e *capture) (one item, named bool) {
	one = item{"id": cmp.Or(e.UUID, e.text("$insert_id"))}
	if !t.identify(e, one) {
		return nil, false
	}
	signal, _ := kindOf(e.Event)
	at, said := readTime(e.Timestamp)
	if said && at.IsZero() {
		t.strip(signal, codeTime)
	}
	if !at.IsZero() {
		one["ts"] = at.Format(time.RFC3339Nano)
	} else if e.Offset != nil && !t.sent.IsZero() {
		one["ts"] = t.sent.Add(-time.Duration(*e.Offset * float64(time.Millisecond))).UTC().Format(time.RFC3339Nano)
	}
	for name, property := range map[string]string{"url": "$current_url", "path": "$pathname", "sessionId": "$session_id", "title": "title"} {
		if text := e.text(property); text != "" {
			one[name] = text
		}
	}
	if referrer := e.text("$referrer"); referrer != "" && referrer != "$direct" {
		one["referrer"] = referrer
	}
	one["context"] = e.context()
	return one, true
}

// context returns the circumstances of an event.
func (e *capture) context() item {
	context := item{
		"locale": e.text("$browser_language"), "userAgent": cmp.Or(e.text("$raw_user_agent"), e.text("$useragent")), "ip": e.text("$ip"),
		"campaign": item{"source": e.text("utm_source"), "medium": e.text("utm_medium"), "name": e.text("utm_campaign"), "term": e.text("utm_term"), "content": e.text("utm_content")},
	}
	if library := e.text("$lib"); library != "" {
		context["library"] = item{"name": library, "version": e.text("$lib_version")}
	}
	if width, height := e.Properties["$screen_width"], e.Properties["$screen_height"]; width != nil && height != nil {
		context["screen"] = item{"width": width, "height": height}
	}
	return context
}

// text returns a property that is a text.
func (e *capture) text(name string) (text string) {
	_ = json.Unmarshal(e.Properties[name], &text)
	return text
}

// object returns a property that is an object.
func (e *capture) object(name string) (members map[string]json.RawMessage) {
	_ = json.Unmarshal(e.Properties[name], &members)
	return members
}

// own returns the customer's own properties, without the properties of the SDK.
func (e *capture) own() map[string]json.RawMessage {
	own := maps.Clone(e.Properties)
	maps.DeleteFunc(own, func(name string, _ json.RawMessage) bool {
		return strings.HasPrefix(name, "$") || slices.Contains([]string{"token", "distinct_id", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"}, name)
	})
	return own
}

// pageTime is the property in which posthog-js sends the viewing time of a page in seconds.
const pageTime = "$prev_pageview_duration"

// event adds an event, and the traits that it sets for the person.
func (t *translation) event(e *capture, shared item) {
	shared["type"], shared["name"], shared["properties"] = "event", e.Event, e.own()
	switch e.Event {
	case "$pageview":
		shared["type"], shared["name"] = "page", ""
	case "$pageleave":
		shared["name"] = "page_leave"
		var seconds float64
		if json.Unmarshal(e.Properties[pageTime], &seconds) == nil && seconds > 0 {
			shared["engagedMs"] = int64(min(seconds, 24*60*60) * 1000)
		}
	}
	t.add(shared)
	if groups := e.object("$groups"); len(groups) > 0 {
		t.strip(ingest.SignalEvents, codeGroup)
	}
	traits := t.traits(e, shared)
	if len(traits) > 0 && shared["distinctId"] == nil {
		t.strip(ingest.SignalEvents, codeTraits)
		return
	}
	if len(traits) > 0 {
		told := item{"type": "identify", "distinctId": shared["distinctId"], "traits": traits, "context": shared["context"]}
		if shared["ts"] != nil {
			told["ts"] = shared["ts"]
		}
		if id, _ := shared["id"].(string); id != "" {
			told["id"] = id + "-set"
		}
		e.prove(told)
		t.add(told)
	}
}

// prove adds the proofs of ids in an event; their names are the names of this service.
func (e *capture) prove(one item) {
	for member, property := range map[string]string{"userHash": "$user_hash", "previousUserHash": "$previous_user_hash"} {
		if proof := e.text(property); proof != "" {
			one[member] = proof
		}
	}
}

// group adds the company of a person. Groups of other types are not stored, nor is a company without one of its people:
// the SDKs of servers use an id of the group instead of a person's id.
func (t *translation) group(e *capture, shared item) {
	kind, key := e.text("$group_type"), idOf(e.Properties["$group_key"])
	switch {
	case kind != "company":
		t.drop(ingest.SignalEvents, codeGroup)
		return
	case shared["distinctId"] == "$"+kind+"_"+key:
		t.drop(ingest.SignalEvents, codeNobody)
		return
	}
	shared["type"], shared["groupId"] = "group", key
	if set := e.object("$group_set"); len(set) > 0 {
		shared["traits"] = set
	}
	t.add(shared)
}

// vitals adds a point for each measure.
func (t *translation) vitals(e *capture, shared item) {
	before := len(t.items)
	for _, name := range []string{"LCP", "CLS", "INP", "FCP", "TTFB"} {
		value := e.Properties["$web_vitals_"+name+"_value"]
		if value == nil || string(value) == "null" {
			continue
		}
		point := item{"type": "vital", "name": name, "value": value, "context": shared["context"]}
		for _, member := range []string{"ts", "url", "path"} {
			if shared[member] != nil {
				point[member] = shared[member]
			}
		}
		if id, _ := shared["id"].(string); id != "" {
			point["id"] = id + "-" + name
		}
		t.add(point)
	}
	if len(t.items) == before {
		t.drop(ingest.SignalMetrics, codeKind)
	}
}
