package ingest

import (
	"context"
	stdjson "encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
	"svc/domain/event"
	"svc/http/sentry"
	"svc/protos"
)

// named is a log that stores the ids of its items.
type named struct{ ids []string }

func (l *named) Produce(_ context.Context, parts []event.Part) error {
	for _, part := range parts {
		var record protos.Record
		if err := record.UnmarshalVTUnsafe(append([]byte(nil), part.Payload...)); err != nil {
			return err
		}
		for _, event := range record.Events {
			l.ids = append(l.ids, event.Id)
		}
		for _, occurrence := range record.Occurrences {
			l.ids = append(l.ids, occurrence.Id)
		}
		for _, point := range record.Points {
			l.ids = append(l.ids, point.Id)
		}
	}
	return nil
}

// idsOf returns the ids of the items of a body that arrives at an instant, in any order.
func idsOf(t *testing.T, kind itemKind, at time.Time, body string) []string {
	t.Helper()
	log := &named{}
	collect := &Collect{
		Cardinality: everySeries{}, Log: log, Shape: domain.LogShape{Partitions: 1}, Metrics: NewCollectMetrics(prometheus.NewRegistry()),
		Collectors: collectorsOf{domain.HashSecret("secret"): {
			Kind: domain.KeySecret, Environment: domain.Environment{Number: 7}, RetentionDays: 365,
			Modules: []domain.Module{domain.ModuleAnalytics, domain.ModuleErrors, domain.ModuleMetrics},
		}},
	}
	sub := requestAt(collect, at, body)
	if err := sub.run(kind); err != nil || len(sub.rejected) > 0 {
		t.Fatalf("%s: %v %v", body, err, sub.rejected)
	}
	return log.ids
}

// idOf is idsOf for one item.
func idOf(t *testing.T, at time.Time, item map[string]any, around map[string]any) string {
	t.Helper()
	batch := map[string]any{"items": []any{item}}
	maps.Copy(batch, around)
	body, err := stdjson.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	ids := idsOf(t, itemAny, at, string(body))
	if len(ids) != 1 {
		t.Fatalf("%d ids of one item", len(ids))
	}
	return ids[0]
}

// sample returns a JSON value for a member of each type.
func sample(kind reflect.Type) any {
	switch kind {
	case reflect.TypeFor[stdjson.RawMessage]():
		return map[string]any{"changed": true}
	case reflect.TypeFor[map[string]stdjson.RawMessage]():
		return map[string]any{"changed": "yes"}
	}
	switch kind.Kind() {
	case reflect.Pointer:
		return sample(kind.Elem())
	case reflect.String:
		return "changed"
	case reflect.Bool:
		return false
	case reflect.Slice:
		return []any{sample(kind.Elem())}
	case reflect.Struct:
		object := map[string]any{}
		for n := range kind.NumField() {
			if name, _, _ := strings.Cut(kind.Field(n).Tag.Get("json"), ","); name != "" {
				object[name] = sample(kind.Field(n).Type)
			}
		}
		return object
	default:
		return 7
	}
}

// changes returns copies of an item, each with one changed member, by the path of the member.
func changes(item map[string]any, kind reflect.Type, path string) map[string]map[string]any {
	out := map[string]map[string]any{}
	if item == nil {
		item = map[string]any{}
	}
	for n := range kind.NumField() {
		field := kind.Field(n)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		within := field.Type
		if within.Kind() == reflect.Pointer {
			within = within.Elem()
		}
		if within.Kind() == reflect.Struct && within.PkgPath() != "" {
			inner, _ := item[name].(map[string]any)
			for at, changed := range changes(inner, within, path+name+".") {
				outer := maps.Clone(item)
				outer[name] = changed
				out[at] = outer
			}
			continue
		}
		changed := maps.Clone(item)
		changed[name] = sample(field.Type)
		out[path+name] = changed
	}
	return out
}

// TestADerivedIDSaysEverything changes every member of every kind of item, as reflection finds them: each change makes
// another item. The id does not depend on the form and the time of sending.
func TestADerivedIDSaysEverything(t *testing.T) {
	visitor := map[string]any{"context.place.country": "DE", "context.client.device": "tablet"}
	const ts, later = "2026-11-20T09:00:00.25Z", "2026-11-20T09:00:00.251Z"
	noon := collectNoon()
	kinds := []struct {
		name    string
		item    map[string]any
		kind    reflect.Type
		instead map[string]any // These replace values that are not valid for every member.
		skip    []string       // These members cannot change alone.
	}{
		{"event", map[string]any{"type": "event", "name": "order", "distinctId": "u"}, reflect.TypeFor[item](), map[string]any{"type": "page", "ts": later}, nil},
		{"identify", map[string]any{"type": "identify", "distinctId": "u"}, reflect.TypeFor[item](), map[string]any{"type": "alias", "ts": later}, nil},
		{"error", map[string]any{"type": "error", "name": "Broken"}, reflect.TypeFor[errorItem](), map[string]any{"ts": later, "level": "fatal"}, []string{"type"}},
		{
			"metric",
			map[string]any{"type": "metric", "name": "LCP", "kind": "histogram", "count": 1},
			reflect.TypeFor[metricItem](),
			map[string]any{"ts": later, "kind": "gauge", "count": 2, "buckets.bounds": []any{1}, "buckets.counts": []any{1}},
			[]string{"type", "value", "values", "kind", "buckets.bounds"},
		},
		{
			"vital",
			map[string]any{"type": "vital", "name": "LCP", "value": 1},
			reflect.TypeFor[metricItem](),
			map[string]any{"ts": later, "name": "CLS"},
			[]string{"type", "values", "count", "kind", "buckets.bounds", "buckets.counts"},
		},
		{
			"observation",
			map[string]any{"type": "metric", "name": "LCP", "kind": "counter", "value": 1},
			reflect.TypeFor[metricItem](),
			map[string]any{"ts": later, "kind": "gauge"},
			[]string{"type", "values", "count", "buckets.bounds", "buckets.counts"},
		},
	}
	transport := []string{"id", "sentAt", "writeKey"}
	for _, test := range kinds {
		t.Run(test.name, func(t *testing.T) {
			test.item["ts"] = ts
			first := idOf(t, noon, test.item, nil)
			seen := map[string]string{first: "nothing"}
			maps.Copy(test.instead, visitor)
			for path, changed := range changes(test.item, test.kind, "") {
				if slices.Contains(transport, path) || slices.Contains(test.skip, path) {
					continue
				}
				if value, other := test.instead[path]; other {
					place(changed, path, value)
				}
				id := idOf(t, noon, changed, nil)
				if before, known := seen[id]; known {
					t.Errorf("changing %s makes the same item as changing %s", path, before)
				}
				seen[id] = path
			}
			for path, context := range changes(nil, reflect.TypeFor[itemContext](), "context.") {
				around := map[string]any{"context": context}
				if value, other := visitor[path]; other {
					place(around, path, value)
				}
				if id := idOf(t, noon, test.item, around); id == first {
					t.Errorf("changing %s of the batch makes the same item", path)
				}
			}
			for after := range 3 {
				at := noon.Add(time.Duration(after) * 1100 * time.Millisecond)
				if id := idOf(t, at, test.item, map[string]any{"sentAt": "2026-11-20T09:59:00Z"}); id != first {
					t.Errorf("sent again it is %s, not %s", id, first)
				}
				if id := idOf(t, at, test.item, map[string]any{"sentAt": at.Format(time.RFC3339Nano)}); id != first {
					t.Errorf("sent again at another time it is %s, not %s", id, first)
				}
			}
		})
	}
}

// place sets a member by its path.
func place(item map[string]any, path string, value any) {
	first, rest, inner := strings.Cut(path, ".")
	if inner {
		place(item[first].(map[string]any), rest, value)
		return
	}
	item[first] = value
}

// TestADerivedIDAgain sends the same items in other spellings, and items with the same content.
func TestADerivedIDAgain(t *testing.T) {
	const one = `{"type":"event","name":"orde\u0072","distinctId":"u","ts":"2026-11-20T09:00:00Z","value":10,"properties":{"a":1.0,"b":["x/y",{"c":null,"d":12345678901234567890}]}}`
	const again = `{"ts":"2026-11-20T10:00:00.000+01:00","value":1e1, "properties":{"b":["x\/y", {"d":12345678901234567890,"c":null}],"a":1},"distinctId":"u","name":"order","type":"event"}`
	const other = `{"type":"event","name":"order","distinctId":"u","ts":"2026-11-20T09:00:00Z","value":10,"properties":{"a":1.0,"b":["x/y",{"c":null,"d":12345678901234567891}]}}`
	const failure = `{"type":"error","name":"Broken","ts":"2026-11-20T09:00:00Z","tags":{"a":"1","b":"2"}}`
	const failed = `{"name":"Broken","tags":{"b":"2","a":"1"},"type":"error","ts":"2026-11-20T09:00:00.000Z"}`
	const point = `{"type":"metric","name":"clicks","kind":"counter","value":1,"ts":"2026-11-20T09:00:00Z"}`
	const untimed = `{"type":"event","name":"order","distinctId":"u"}`
	for _, test := range []struct {
		name          string
		first, second []string
		both          int
	}{
		{"another spelling", []string{one}, []string{again}, 1},
		{"twice in a request", []string{one, one}, []string{again}, 1},
		{"another long number", []string{one}, []string{other}, 2},
		{"an error in another spelling", []string{failure}, []string{failed}, 1},
		{"an error twice in a request", []string{failure, failed}, []string{failure, failure}, 2},
		{"an error in another place of the request", []string{one, failure}, []string{failure}, 2},
		{"a point twice in a request", []string{point, point}, []string{point, point}, 2},
		{"without a time", []string{untimed, untimed}, []string{untimed}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := func(items []string) string { return `{"items":[` + strings.Join(items, ",") + `]}` }
			ids := idsOf(t, itemAny, collectNoon(), body(test.first))
			ids = append(ids, idsOf(t, itemAny, collectNoon().Add(1100*time.Millisecond), body(test.second))...)
			slices.Sort(ids)
			if both := len(slices.Compact(ids)); both != test.both {
				t.Errorf("%d items, want %d", both, test.both)
			}
		})
	}
	deep := `{"name":"order","distinctId":"u","ts":"2026-11-20T09:00:00Z","traits":` + strings.Repeat("[", domain.MaxNesting-1) + strings.Repeat("]", domain.MaxNesting-1) + `}`
	if ids := idsOf(t, itemEvent, collectNoon(), deep); len(ids) != 1 {
		t.Errorf("%d ids of a deep item", len(ids))
	}
}

// TestSentryErrorsWithoutID sends an event without an id twice, like SDKs after a lost answer.
func TestSentryErrorsWithoutID(t *testing.T) {
	ids := map[string]bool{}
	for n := range 3 {
		log := &named{}
		collect := &Collect{Log: log, Shape: domain.LogShape{Partitions: 1}, Metrics: NewCollectMetrics(prometheus.NewRegistry())}
		sub := requestAt(collect, collectNoon().Add(time.Duration(n)*time.Second), "")
		sub.collector = &domain.Collector{Kind: domain.KeyPublic, Environment: domain.Environment{Number: 7}, Modules: []domain.Module{domain.ModuleErrors}, RetentionDays: 90}
		sub.envelope.SentAt = "2026-11-20T09:59:00Z"
		sub.telemetry = collect.telemetryOf(7)
		payload := []byte(fmt.Sprint(`{"timestamp":"2026-11-20T09:00:00Z",`, strings.Repeat(" ", n), `"message":"It broke."}`))
		event, err := sentry.ParseEvent(payload)
		if err != nil {
			t.Fatal(err)
		}
		sub.acceptEvent(0, event, payload)
		if err := sub.produce(); err != nil || len(log.ids) != 1 {
			t.Fatal(err, log.ids, sub.rejected)
		}
		ids[log.ids[0]] = true
	}
	if len(ids) != 1 {
		t.Errorf("one event has the ids %v", ids)
	}
}

// FuzzSumJSON computes the sums of texts and compares them with the same values in the spelling of the standard
// library.
func FuzzSumJSON(f *testing.F) {
	for _, body := range bodies() {
		f.Add([]byte(body))
	}
	f.Add([]byte(`{"a":[1.50,-0,1e2,"\u00e4\n\ud83d\ude00",true,null,{}],"b":{"":[]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var value any
		decoder := stdjson.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		if !stdjson.Valid(text) || decoder.Decode(&value) != nil || doubled(text) {
			return
		}
		same, err := stdjson.MarshalIndent(value, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if sumJSON(text) != sumJSON(same) {
			t.Errorf("%s\nis another value than\n%s", text, same)
		}
		if sumJSON(text) == sumJSON([]byte(`{"another":`+string(same)+`}`)) {
			t.Errorf("%s is the same as inside an object", text)
		}
	})
}

// doubled reports whether some object of a valid text may have two members with one name, or a text that is not
// Unicode, which the standard library changes.
func doubled(text []byte) bool {
	var value any
	_ = stdjson.Unmarshal(text, &value)
	again, _ := stdjson.Marshal(value)
	return measureJSON(text).keys != measureJSON(again).keys || strings.Contains(string(again), `\ufffd`) || strings.Contains(string(again), "\ufffd")
}
