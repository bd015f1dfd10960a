package flags

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/flag"
)

// knownAs is the profile that a node returns for every visitor.
type knownAs struct{ person *flag.Person }

func (k *knownAs) Person(uint64, uint64) *flag.Person { return k.person }

// asking sends requests to a handler, each with the tag of the last answer, and returns their status.
type asking struct {
	handler http.Handler
	tag     string
}

func (a *asking) ask(body string) int {
	request := httptest.NewRequest(http.MethodPost, "/api/v1/flags/evaluate", strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer public")
	request.Header.Set("If-None-Match", a.tag)
	answer := httptest.NewRecorder()
	a.handler.ServeHTTP(answer, request)
	a.tag = answer.Header().Get("Etag")
	return answer.Code
}

// counted returns the number of evaluations since the last call.
func counted(set *flag.Set) (count uint64) {
	for _, entry := range set.Entries {
		entry.Take(func(_ string, n uint64) { count += n })
	}
	return count
}

// TestWhatDidNotChangeIsNotEvaluated repeats requests with the tag of the last answer. An evaluation happens only after
// a change of the request, the definitions, or the person's values that flags may read. In addition one happens each
// second, for the counts.
func TestWhatDidNotChangeIsNotEvaluated(t *testing.T) {
	specs := map[string]flag.Spec{"f": {
		Name: "F", Kind: flag.Boolean, Environments: map[string]flag.Switch{"production": {Enabled: true}},
		Rules: []flag.Rule{{ID: "r", Conditions: []flag.Condition{{Field: "trait.plan", Op: "eq", Value: "pro"}}}},
	}}
	definitions, known := &defined{}, &knownAs{}
	definitions.define(t, specs)
	now := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	a := &asking{handler: servingAt(t, definitions, known, func() time.Time { return now })}
	person := func(plan, seen string) *flag.Person {
		return &flag.Person{Values: map[string]flag.Value{"trait.plan": flag.TextFlagValue(plan), "last_seen_at": flag.TextFlagValue(seen)}}
	}
	const body, other, said = `{"distinctId":"u"}`, `{"distinctId":"v"}`, `{"distinctId":"u","context":{"plan":"pro"}}`
	for step, c := range []struct {
		what   string
		change func()
		body   string
		status int
		count  uint64
	}{
		{"the first request", func() {}, body, 200, 1},
		{"the same again, the first of a second", func() {}, body, 304, 1},
		{"the same again", func() {}, body, 304, 0},
		{"the person becomes known", func() { known.person = person("free", "1") }, body, 200, 1},
		{"nothing that a flag asks for changes", func() { known.person = person("free", "2") }, body, 304, 0},
		{"a second later", func() { now = now.Add(time.Second) }, body, 304, 1},
		{"what a flag asks for changes", func() { known.person = person("pro", "2") }, body, 200, 1},
		{"another request", func() {}, other, 200, 1},
		{"the request says what a flag asks for", func() {}, said, 200, 1},
		{"nobody asks for the person any more", func() { known.person = person("free", "2") }, said, 304, 0},
		{"another revision", func() { definitions.define(t, specs) }, other, 200, 1},
		{"and again", func() {}, other, 304, 1},
		{"and once more", func() {}, other, 304, 0},
	} {
		c.change()
		status := a.ask(c.body)
		if count := counted(definitions.Set(domain.AppRef{}, "")); status != c.status || count != c.count {
			t.Errorf("step %d, %s: status %d and %d evaluations, want %d and %d", step, c.what, status, count, c.status, c.count)
		}
	}
}

// TestTimeChangesTags uses a flag that reads the time since a sign-up: the answer is the same until time changes it.
func TestTimeChangesTags(t *testing.T) {
	definitions := &defined{}
	definitions.define(t, map[string]flag.Spec{"f": {
		Name: "F", Kind: flag.Boolean, Environments: map[string]flag.Switch{"production": {Enabled: true}},
		Rules: []flag.Rule{{ID: "r", Conditions: []flag.Condition{{Field: "property.since", Op: "within_days", Value: 1.0}}}},
	}})
	now := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	a := &asking{handler: servingAt(t, definitions, nil, func() time.Time { return now })}
	body := fmt.Sprintf(`{"distinctId":"u","context":{"since":%q}}`, now.Add(-23*time.Hour).Format(time.RFC3339))
	var got []int
	for range 4 {
		got = append(got, a.ask(body))
		now = now.Add(25 * time.Minute)
	}
	if want := []int{200, 304, 304, 200}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the answers are %v, want %v", got, want)
	}
}

// TestLongAnswersSayTheirLength requests an answer that is longer than the buffer of net/http.
func TestLongAnswersSayTheirLength(t *testing.T) {
	definitions := &defined{}
	definitions.define(t, many(100, 1))
	server := httptest.NewServer(serving(t, definitions))
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/v1/flags/evaluate", strings.NewReader(`{"distinctId":"u"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer public")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.ContentLength < 5000 {
		t.Errorf("the length of the answer is %d", response.ContentLength)
	}
}
