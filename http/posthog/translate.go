package posthog

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// item is an item of the native batch.
type item map[string]any

// translation makes native items of events.
type translation struct {
	sent        time.Time
	items       []item
	flags       int
	unsupported []string
}

func (t *translation) add(one item) { t.items = append(t.items, one) }

// translate adds what an event says.
func (t *translation) translate(e *capture) {
	shared := t.shared(e)
	switch e.Event {
	case "$feature_flag_called":
		t.flags++
	case "$autocapture", "$$heatmap", "$heatmap", "$snapshot", "$snapshot_items", "$performance_event", "$rageclick", "$dead_click", "$copy_autocapture", "$opt_in", "$$client_ingestion_warning":
		t.unsupported = append(t.unsupported, e.Event)
	case "$identify":
		shared["type"], shared["traits"] = "identify", e.traits()
		if other := e.text("$anon_distinct_id"); other != "" {
			shared["anonymousId"] = other
		}
		t.add(shared)
	case "$set":
		shared["type"], shared["traits"] = "identify", e.traits()
		t.add(shared)
	case "$create_alias":
		shared["type"], shared["previousId"] = "alias", e.text("alias")
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

// shared returns the members that all kinds of items have: who, when, where and with what.
func (t *translation) shared(e *capture) item {
	one := item{"id": cmp.Or(e.UUID, e.text("$insert_id"))}
	distinct := idOf(e.DistinctID)
	if distinct == "" {
		distinct = idOf(e.Properties["distinct_id"])
	}
	if known := string(e.Properties["$is_identified"]); known == "false" || e.text("$user_state") == "anonymous" {
		one["anonymousId"] = distinct
	} else {
		one["distinctId"] = distinct
		if device := e.text("$device_id"); device != "" && device != distinct {
			one["anonymousId"] = device
		}
	}
	if at, ok := timeOf(e.Timestamp); ok {
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
	return one
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

// traits returns what an event sets of the person, without what SDKs note of the first and the last visit.
func (e *capture) traits() map[string]json.RawMessage {
	traits := map[string]json.RawMessage{}
	for _, set := range []map[string]json.RawMessage{e.object("$set_once"), e.SetOnce, e.object("$set"), e.Set} {
		maps.Copy(traits, set)
	}
	maps.DeleteFunc(traits, func(name string, _ json.RawMessage) bool { return strings.HasPrefix(name, "$") })
	return traits
}

// own returns the properties that the customer sent, without those of the SDK.
func (e *capture) own() map[string]json.RawMessage {
	own := maps.Clone(e.Properties)
	maps.DeleteFunc(own, func(name string, _ json.RawMessage) bool {
		return strings.HasPrefix(name, "$") || slices.Contains([]string{"token", "distinct_id", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"}, name)
	})
	return own
}

// pageTime is the property in which posthog-js says how many seconds a page was looked at.
const pageTime = "$prev_pageview_duration"

// event adds an event, and what it sets of the person.
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
	if traits := e.traits(); len(traits) > 0 && shared["distinctId"] != nil {
		told := item{"type": "identify", "distinctId": shared["distinctId"], "traits": traits, "context": shared["context"]}
		if shared["ts"] != nil {
			told["ts"] = shared["ts"]
		}
		if id, _ := shared["id"].(string); id != "" {
			told["id"] = id + "-set"
		}
		t.add(told)
	}
}

// group adds the company of a person. Groups of other types are not kept.
func (t *translation) group(e *capture, shared item) {
	if e.text("$group_type") != "company" {
		t.unsupported = append(t.unsupported, e.Event)
		return
	}
	shared["type"], shared["groupId"] = "group", idOf(e.Properties["$group_key"])
	if set := e.object("$group_set"); len(set) > 0 {
		shared["traits"] = set
	}
	t.add(shared)
}

// vitals adds a point for each measure.
func (t *translation) vitals(e *capture, shared item) {
	for _, name := range []string{"LCP", "CLS", "INP", "FCP", "TTFB"} {
		value := e.Properties["$web_vitals_"+name+"_value"]
		if value == nil {
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
}

// thrown is an entry of $exception_list, in the form of Sentry's.
type thrown struct {
	Type      string `json:"type"`
	Value     string `json:"value"`
	Mechanism struct {
		Handled *bool  `json:"handled"`
		Type    string `json:"type"`
	} `json:"mechanism"`
	Stacktrace struct {
		Frames []struct {
			Filename string `json:"filename"`
			AbsPath  string `json:"abs_path"`
			Function string `json:"function"`
			Module   string `json:"module"`
			Line     int    `json:"lineno"`
			Column   int    `json:"colno"`
			InApp    *bool  `json:"in_app"`
		} `json:"frames"`
	} `json:"stacktrace"`
}

// frames returns the calls of an error, the throwing one first.
func (e *thrown) frames() []item {
	frames := make([]item, 0, len(e.Stacktrace.Frames))
	for _, called := range slices.Backward(e.Stacktrace.Frames) {
		frame := item{"file": cmp.Or(called.Filename, called.AbsPath), "function": called.Function, "module": called.Module, "line": called.Line, "column": called.Column}
		if called.InApp != nil {
			frame["inApp"] = *called.InApp
		}
		frames = append(frames, frame)
	}
	return frames
}

// exception adds an error. The first of the list is what was thrown, the others are its causes; its frames end with the
// throwing one.
func (t *translation) exception(e *capture, shared item) {
	var list []thrown
	_ = json.Unmarshal(e.Properties["$exception_list"], &list)
	if len(list) == 0 {
		list = []thrown{{Type: e.text("$exception_type"), Value: e.text("$exception_message")}}
	}
	first := list[0]
	shared["type"], shared["name"], shared["message"] = "error", first.Type, first.Value
	if level := e.text("$exception_level"); level != "" {
		shared["level"] = level
	}
	if first.Mechanism.Handled != nil {
		shared["handled"] = *first.Mechanism.Handled
	}
	if first.Mechanism.Type != "" {
		shared["mechanism"] = first.Mechanism.Type
	}
	if frames := first.frames(); len(frames) > 0 {
		shared["frames"] = frames
	}
	var causes []item
	for i := range list[1:] {
		cause := &list[i+1]
		causes = append(causes, item{"name": cause.Type, "message": cause.Value, "frames": cause.frames()})
	}
	if len(causes) > 0 {
		shared["causes"] = causes
	}
	if release := e.text("$release"); release != "" {
		shared["release"] = release
	}
	if own := e.own(); len(own) > 0 {
		shared["extra"] = own
	}
	t.add(shared)
}
