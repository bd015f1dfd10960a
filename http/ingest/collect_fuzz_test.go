package ingest

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/telemetry"
	"svc/http/route"
	"svc/protos"
)

// bodies are the seeds of the fuzz targets: bodies of clients, and bodies that try to break a parser.
func bodies() []string {
	return []string{
		`{"name":"$pageview","distinctId":"user-00001234","sessionId":"sess-00001234","ts":"2026-11-20T10:00:00.000Z","id":"0b1f8a52-6a40-4a36-8a2c-6d3f5f3b2a11","context":{"url":"https://shop.example.com/products/item-42?utm_source=news","path":"/products/item-42","title":"Item 42","referrer":"https://www.google.com/","locale":"en-US","screen":{"width":1920,"height":1080},"utm":{"source":"news","medium":"email","campaign":"spring"}},"properties":{"plan":"pro","price":49.95,"currency":"EUR","items":3}}`,
		`{"sentAt":"2026-11-20T10:00:00Z","items":[{"type":"page","anonymousId":"a","url":"https://e.com/?a=1"},{"type":"identify","distinctId":"d","anonymousId":"a","traits":{"plan":"pro"}}]}`,
		`[{"name":"a","distinctId":"b"},{"name":"c","distinctId":"d","value":1e3}]`,
		`{"name":"x","name":"y","distinctId":"u"}`,
		`{"name":"x","distinctId":"u","properties":{"a":[[[[1]]]]}}`,
		`{"name":"x","distinctId":"u","value":1e999}`,
		`{"name":"x","distinctId":"u","value":"1"}`,
		`{"name":"x","distinctId":"u"} trailing`,
		`{"name":"\ud800","distinctId":"u"}`,
		`{"NAME":"x","DistinctID":"u"}`,
		`{"items":null}`, `null`, `[]`, `{}`, `"text"`, `{"name":`, "\x00", `{"a":` + strings.Repeat("[", 2000),
	}
}

// FuzzDecode compares the fast decoder with the standard library: if both read a body they must read the same, and the
// fast one reads only valid JSON.
func FuzzDecode(f *testing.F) {
	for _, body := range bodies() {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var fast, slow envelope
		fastErr, slowErr := parse(body, &fast), stdjson.Unmarshal(body, &slow)
		if fastErr == nil && !stdjson.Valid(body) {
			t.Fatalf("the fast decoder reads what is no JSON: %q", body)
		}
		if otherCase(body) {
			return // The standard library would take NAME for name.
		}
		if fastErr == nil && slowErr == nil && !reflect.DeepEqual(fast, slow) {
			t.Errorf("read differently:\nfast %+v\nslow %+v", fast, slow)
		}
	})
}

// otherCase reports whether a member's name differs from one of ours only by case.
func otherCase(body []byte) bool {
	known := map[string]string{}
	for _, kind := range []reflect.Type{reflect.TypeFor[envelope](), reflect.TypeFor[item](), reflect.TypeFor[itemContext](), reflect.TypeFor[campaign](), reflect.TypeFor[statedPlace](), reflect.TypeFor[statedClient]()} {
		for n := range kind.NumField() {
			if name := kind.Field(n).Tag.Get("json"); name != "" {
				known[strings.ToLower(name)] = name
			}
		}
	}
	for _, quoted := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).FindAll(body, -1) {
		var text string
		if stdjson.Unmarshal(quoted, &text) != nil {
			continue
		}
		// The standard library folds a few letters beyond ASCII as well.
		folded := strings.NewReplacer("\u017f", "s", "\u212a", "k").Replace(strings.ToLower(text))
		if exact, ours := known[folded]; ours && exact != text {
			return true
		}
	}
	return false
}

type collectorsOf map[[32]byte]*domain.Collector

func (c collectorsOf) Collector(hash [32]byte) *domain.Collector { return c[hash] }
func (c collectorsOf) Former([32]byte) uint64                    { return 0 }
func (c collectorsOf) Named(string) uint64                       { return 0 }

// policiesOf are the policies of environments by their numbers; others have the default.
type policiesOf map[uint64]telemetry.Policy

func (p policiesOf) Telemetry(environment uint64) *telemetry.State {
	if policy, known := p[environment]; known {
		return &telemetry.State{Policy: policy}
	}
	return &telemetry.State{Policy: telemetry.DefaultTelemetryPolicy()}
}

// logOf stores the produced parts.
type logOf struct {
	points []*protos.MetricPoint
	events []*protos.Event
	items  int // It counts items of all kinds.
	errors []*protos.Occurrence
	err    error
}

func (l *logOf) Produce(_ context.Context, parts []event.Part) error {
	for _, part := range parts {
		var record protos.Record
		if err := record.UnmarshalVTUnsafe(append([]byte(nil), part.Payload...)); err != nil {
			return err
		}
		l.events = append(l.events, record.Events...)
		l.points = append(l.points, record.Points...)
		l.items += len(record.Events) + len(record.Points) + len(record.Occurrences) + len(record.Billings)
		l.errors = append(l.errors, record.Occurrences...)
	}
	return l.err
}

// collectNoon is the arrival of the tests' requests.
func collectNoon() time.Time { return time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC) }

func testCollect(log *logOf) *Collect {
	return &Collect{
		Cardinality: everySeries{},
		Collectors: collectorsOf{
			domain.HashSecret("public"): {Kind: domain.KeyPublic, Environment: domain.Environment{Number: 7}, Modules: []domain.Module{domain.ModuleAnalytics}, Origins: []string{"*"}, RetentionDays: 365},
			domain.HashSecret("secret"): {Kind: domain.KeySecret, Environment: domain.Environment{Number: 7}, Modules: []domain.Module{domain.ModuleAnalytics}, RetentionDays: 365},
			domain.HashSecret("people"): {Kind: domain.KeyPublic, Environment: domain.Environment{Number: 9}, Modules: []domain.Module{domain.ModulePeople}, Origins: []string{"*"}, RetentionDays: 365},
			domain.HashSecret("noweb"):  {Kind: domain.KeyPublic, Environment: domain.Environment{Number: 8}, Modules: []domain.Module{domain.ModuleErrors}, RetentionDays: 365},
		},
		Log: log, Shape: domain.LogShape{Partitions: 4}, Metrics: NewCollectMetrics(prometheus.NewRegistry()),
	}
}

// everySeries admits all series below the limit's number.
type everySeries struct{}

func (everySeries) Admit(_, _ uint64, limit int, _ time.Time) bool { return limit > 0 }

// requestAt is a request with a secret key that arrives at an instant.
func requestAt(c *Collect, at time.Time, body string) *submission {
	request := httptest.NewRequest(http.MethodPost, "/api/v1/batch", strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer secret")
	request.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
	sub := &submission{}
	sub.reset(c, &route.Response{ResponseWriter: httptest.NewRecorder()}, request, at)
	return sub
}

// accept decodes a body and checks its items, without the handler.
func accept(t *testing.T, c *Collect, key, body string, kind itemKind) (*submission, error) {
	t.Helper()
	sub := requestAt(c, collectNoon(), body)
	sub.request.Header.Set("Authorization", "Bearer "+key)
	return sub, sub.run(kind)
}

// FuzzCollect sends any body to every path: it never panics, every accepted item becomes an event within the limits,
// and counts add up.
func FuzzCollect(f *testing.F) {
	limitFuzzing(f)
	for _, body := range append(bodies(), deepBodies(f)...) {
		f.Add(body, byte(0))
		f.Add(body, byte(1))
	}
	f.Fuzz(func(t *testing.T, body string, path byte) {
		log := &logOf{}
		kind := []itemKind{itemAny, itemEvent, itemIdentify, itemError, itemMetric, itemBilling}[int(path)%6]
		sub, err := accept(t, taking(log), "secret", body, kind)
		if err != nil {
			if _, known := errors.AsType[*domain.Error](err); !known {
				t.Fatalf("an error of another type: %v", err)
			}
			return
		}
		if sub.accepted+len(sub.rejected) != len(sub.items) || sub.accepted != log.items {
			t.Errorf("%d accepted, %d rejected of %d, %d in the log", sub.accepted, len(sub.rejected), len(sub.items), log.items)
		}
		for _, e := range log.events {
			valid := len(e.Properties) == 0 || stdjson.Valid(e.Properties)
			if !valid || e.Id == "" || e.Name == "" || event.Visitor(e.DistinctId, e.AnonymousId) == "" || e.SizeVT() > event.MaxEventBytes+64 {
				t.Errorf("accepted %v", e)
			}
		}
	})
}

// TestEventOfAnItem compares whole events.
func TestEventOfAnItem(t *testing.T) {
	value := 12.5
	reference := &protos.Event{
		Environment: 7, Id: "e1", TsMs: 1795168800000 - 60_000, ReceivedMs: 1795168800000, Name: "$pageview",
		DistinctId: "u", SessionId: "s", Url: "https://shop.example.com/p?utm_source=x", Path: "/p", Referrer: "https://r.example/",
		Title: "T", Locale: "en", Screen: "1920x1080", Library: "lib/1.2", Release: "r1", Currency: "EUR", Value: &value,
		Properties: []byte(`{"a":1}`), Ip: "192.0.2.1", UserAgent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
		Campaign: &protos.Campaign{Source: "news", Medium: "email", Name: "spring"}, EngagedMs: 1500, RetentionDays: 365,
	}
	full := `{"name":"$pageview","id":"e1","ts":"2026-11-20T09:59:00.000Z","distinctId":"u","sessionId":"s","value":12.5,"currency":"EUR","release":"r1","engagedMs":1500,
		"context":{"url":"https://shop.example.com/p?utm_source=x","referrer":"https://r.example/","title":"T","locale":"en","screen":{"width":1920,"height":1080},
		"library":{"name":"lib","version":"1.2"},"utm":{"source":"news","medium":"email","campaign":"spring"},"ip":"198.51.100.7","userAgent":"Spoof/1.0"},"properties":{"a":1}}`
	for _, c := range []struct {
		name, key, body string
		kind            itemKind
		want            func(*protos.Event)
	}{
		{"a public key's context says nothing of the client", "public", full, itemEvent, func(*protos.Event) {}},
		{"a secret key's does, and its connection does not", "secret", full, itemEvent, func(e *protos.Event) { e.Ip, e.UserAgent = "198.51.100.7", "Spoof/1.0" }},
		{"the clock of the sender is corrected", "public", `{"sentAt":"2026-11-20T09:00:00Z","items":[` + strings.Replace(full, `{"name"`, `{"type":"event","name"`, 1) + `]}`, itemAny, func(e *protos.Event) {
			e.TsMs += 3600_000
			e.TsMs = min(e.TsMs, e.ReceivedMs+300_000)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &logOf{}
			sub, err := accept(t, testCollect(log), c.key, c.body, c.kind)
			if err != nil || len(log.events) != 1 {
				t.Fatalf("%v, rejected %v, %d events", err, sub.rejected, len(log.events))
			}
			want := proto.CloneOf(reference)
			c.want(want)
			if got := log.events[0]; !proto.Equal(got, want) {
				t.Errorf("\n got %v\nwant %v", got, want)
			}
		})
	}
}

// TestADerivedIDIsTheSameForTheSameEvent sends an event without an id twice, and once in the spelling of another
// library.
func TestADerivedIDIsTheSameForTheSameEvent(t *testing.T) {
	log := &logOf{}
	collect := testCollect(log)
	for _, body := range []string{
		`{"name":"a","distinctId":"u","ts":"2026-11-20T09:59:00Z","properties":{"x":"ü/"}}`,
		`{"name":"a","distinctId":"u","ts":"2026-11-20T09:59:00Z","properties":{ "x": "\u00fc\/" }}`,
		`{"name":"a","distinctId":"u","ts":"2026-11-20T09:59:00Z","properties":{"x":"ü"}}`,
	} {
		if _, err := accept(t, collect, "public", body, itemEvent); err != nil {
			t.Fatal(err)
		}
	}
	if want := `{"x":"ü/"}`; string(log.events[1].Properties) != want {
		t.Errorf("the properties are %s, want %s", log.events[1].Properties, want)
	}
	if log.events[0].Id != log.events[1].Id || log.events[0].Id == log.events[2].Id {
		t.Errorf("ids %s, %s, %s", log.events[0].Id, log.events[1].Id, log.events[2].Id)
	}
}

// TestEqualEventsOfARequest sends the same event without an id three times in one request: with a time they are one
// event, without a time they are three.
func TestEqualEventsOfARequest(t *testing.T) {
	for ts, want := range map[string]int{`,"ts":"2026-11-20T09:59:00Z"`: 1, "": 3} {
		log := &logOf{}
		one := `{"type":"event","name":"click","distinctId":"u"` + ts + `}`
		if _, err := accept(t, testCollect(log), "public", `{"items":[`+one+`,`+one+`,{"type":"event","name":"other","distinctId":"u"},`+one+`]}`, itemAny); err != nil {
			t.Fatal(err)
		}
		ids := map[string]int{}
		for _, event := range log.events {
			if event.Name == "click" {
				ids[event.Id]++
			}
		}
		if len(ids) != want {
			t.Errorf("%s: the ids are %v", ts, ids)
		}
	}
}

// TestNothingIsAcceptedWhereTheModuleIsOff checks the module of the items.
func TestNothingIsAcceptedWhereTheModuleIsOff(t *testing.T) {
	log := &logOf{}
	sub, err := accept(t, testCollect(log), "noweb", `{"name":"a","distinctId":"u"}`, itemEvent)
	if err != nil || len(sub.rejected) != 1 || sub.rejected[0].Code != "module_disabled" || len(log.events) != 0 {
		t.Errorf("%v, %v, %d events", err, sub.rejected, len(log.events))
	}
}

// TestPeopleAreIdentifiedWithoutAnalytics sends to an application that has only the module people.
func TestPeopleAreIdentifiedWithoutAnalytics(t *testing.T) {
	log := &logOf{}
	body := `{"items":[{"type":"identify","distinctId":"u","anonymousId":"a"},{"type":"event","name":"a","distinctId":"u"},{"type":"alias","distinctId":"u","previousId":"v"}]}`
	sub, err := accept(t, testCollect(log), "people", body, itemAny)
	if err != nil || len(sub.rejected) != 1 || sub.rejected[0].Index != 1 || sub.rejected[0].Code != "module_disabled" || len(log.events) != 2 {
		t.Errorf("%v, %v, %d events", err, sub.rejected, len(log.events))
	}
}

// BenchmarkAccept measures decoding, checking and encoding, without network and log.
func BenchmarkAccept(b *testing.B) {
	one := strings.Replace(bodies()[0], `{"name"`, `{"type":"event","name"`, 1)
	for _, c := range []struct {
		name, body string
		kind       itemKind
	}{{"single", bodies()[0], itemEvent}, {"batch100", `{"items":[` + strings.TrimSuffix(strings.Repeat(one+",", 100), ",") + `]}`, itemAny}} {
		b.Run(c.name, func(b *testing.B) {
			collect := testCollect(nil)
			collect.Log = discard{}
			request := httptest.NewRequest(http.MethodPost, "/api/v1/batch", nil)
			request.Header.Set("Authorization", "Bearer public")
			b.ReportAllocs()
			for b.Loop() {
				request.Body = http.NoBody
				sub := submissionPool.Get().(*submission)
				sub.reset(collect, nil, request, collectNoon())
				sub.raw.WriteString(c.body)
				if err := sub.run(c.kind); err != nil {
					b.Fatal(err)
				}
				sub.release()
			}
		})
	}
}

type discard struct{}

func (discard) Produce(context.Context, []event.Part) error { return nil }
