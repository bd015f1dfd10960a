package route_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"svc/domain"
	"svc/http/route"
)

// form is an input of every kind of field.
type form struct {
	Word  string   `query:"word" doc:"A parameter."`
	Must  string   `query:"must" required:"true" doc:"A parameter."`
	Words []string `query:"words" doc:"A parameter."`
	Flag  bool     `query:"flag" doc:"A parameter."`
	Body  content  `body:"json"`
}

type content struct {
	Name   string                     `json:"name" required:"true"`
	Count  *int                       `json:"count"`
	Share  float64                    `json:"share"`
	On     bool                       `json:"on"`
	Tags   []string                   `json:"tags"`
	Inner  inner                      `json:"inner"`
	Inners []inner                    `json:"inners"`
	Until  route.Nullable[route.Time] `json:"until"`
	Free   json.RawMessage            `json:"free"`
	Labels *map[string]string         `json:"labels"`
}

type inner struct {
	Key string `json:"key" required:"true"`
}

// formHandler answers with the input that it read.
func formHandler(t testing.TB) *route.Handler {
	return newGateway().handler(t, row("POST", "/form", func(_ context.Context, _ *route.Call, in form) (string, error) {
		count := "absent"
		if in.Body.Count != nil {
			count = fmt.Sprint(*in.Body.Count)
		}
		labels := "absent"
		if in.Body.Labels != nil {
			labels = fmt.Sprint(*in.Body.Labels)
		}
		return fmt.Sprintf("%s|%s|%v|%v|%s|%s|%v|%s|%v|%v|%s", in.Word, in.Must, in.Words, in.Flag, in.Body.Name, count, in.Body.Tags, in.Body.Inner.Key, in.Body.Until.Set, in.Body.Until.Value != nil, labels), nil
	}))
}

// problems lists the problems of an answer as "field code".
func problems(t testing.TB, body []byte) (domain.Code, []string) {
	t.Helper()
	var problem route.Problem
	if err := json.Unmarshal(body, &problem); err != nil {
		t.Fatalf("no problem: %s", body)
	}
	list := []string{}
	for _, e := range problem.Errors {
		list = append(list, e.Field+" "+e.Code)
	}
	return problem.Code, list
}

func TestGoodInput(t *testing.T) {
	for _, test := range []struct{ query, body, want string }{
		{"must=m", `{"name":"n"}`, "|m|[]|false|n|absent|[]||false|false|absent"},
		{"must=m&word=w&words=a&words=b&flag=true", `{"name":"n","count":3,"tags":["x","y"],"inner":{"key":"k"},"until":null,"labels":{"b":"y"}}`, "w|m|[a b]|true|n|3|[x y]|k|true|false|map[b:y]"},
		{"must=m&word=", ` {"name":"","until":"2026-01-01T00:00:00+02:00"} `, "|m|[]|false||absent|[]||true|true|absent"},
	} {
		response := ask(t, formHandler(t), "POST", "/api/v1/form?"+test.query, test.body, "Content-Type: application/json; charset=UTF-8")
		if got := strings.Trim(strings.TrimSpace(response.Body.String()), `"`); response.Code != 200 || got != test.want {
			t.Errorf("%s %s: %d %s, want %s", test.query, test.body, response.Code, got, test.want)
		}
	}
}

func TestBadInput(t *testing.T) {
	for _, test := range []struct {
		query, body string
		want        []string
	}{
		{"", `{}`, []string{"must required", "name required"}},
		{"must=m&must=n&word=a&word=b&flag=perhaps", `{"name":1}`, []string{"word duplicate_parameter", "must duplicate_parameter", "flag invalid_value", "name invalid_type"}},
		{"must=m", ``, []string{" empty_body"}},
		{"must=m", `  `, []string{" empty_body"}},
		{"must=m", `{"name":"n"} x`, []string{" invalid_json"}},
		{"must=m", `{"name":"n"}{}`, []string{" invalid_json"}},
		{"must=m", `{"name":`, []string{" invalid_json"}},
		{"must=m", `{"name":` + strings.Repeat("[", domain.MaxNesting), []string{" too_deep"}},
		{"must=m", `[]`, []string{" invalid_type"}},
		{"must=m", `null`, []string{" invalid_type"}},
		{"must=m", "{\"name\":\"\xff\"}", []string{" invalid_text"}},
		{"must=m", `{"name":"a\u0000b"}`, []string{" invalid_text"}},
		{"must=m", `{"x":{"a\u0000":1},"name":"n"}`, []string{" invalid_text"}},
		{
			"must=m", `{"name":null,"count":1.5,"share":"x","on":1,"tags":"x","inner":[],"inners":[{},3],"until":7}`,
			[]string{"name invalid_type", "count invalid_type", "share invalid_type", "on invalid_type", "tags invalid_type", "inner invalid_type", "inners[0].key required", "inners[1] invalid_type", "until invalid_type"},
		},
		{"must=m", `{"name":"n","tags":["a",null,2],"share":null}`, []string{"share invalid_type", "tags[1] invalid_type", "tags[2] invalid_type"}},
		{"must=m", `{"name":"n","labels":{"b":1,"a":"x","c":null}}`, []string{"labels.b invalid_type", "labels.c invalid_type"}},
		{"must=m", `{"name":"n","labels":["a"]}`, []string{"labels invalid_type"}},
		{"must=%zz", `{"name":"n"}`, []string{" invalid_query", "must required"}},
		{"must=a%00b", `{"name":"n"}`, []string{"must invalid_text", "must required"}},
		{"must=%ff", `{"name":"n"}`, []string{"must invalid_text", "must required"}},
		{"must=m;x=1", `{"name":"n"}`, []string{" invalid_query", "must required"}},
	} {
		response := ask(t, formHandler(t), "POST", "/api/v1/form?"+test.query, test.body)
		code, got := problems(t, response.Body.Bytes())
		if response.Code != 400 || code != domain.CodeInvalidRequest || !slices.Equal(got, test.want) {
			t.Errorf("%s %s: %d %q, want %q", test.query, test.body, response.Code, got, test.want)
		}
	}
}

// TestUnknownMembersAreRefused sends bodies with unknown and repeated members.
func TestUnknownMembersAreRefused(t *testing.T) {
	handle := func(context.Context, *route.Call, struct {
		Body content `body:"json"`
	},
	) (string, error) {
		return "", nil
	}
	for body, want := range map[string][]string{
		`{"name":"n","labels":{"any":"x"},"free":{"any":[1]},"until":null}`: {},
		`{"name":"n","other":1}`:  {"other unknown_member"},
		`{"name":"n","Name":"x"}`: {"Name unknown_member"},
		`{"name":"n","name":"x"}`: {"name duplicate_member"},
		`{"name":"n","inner":{"key":"k","other":{}},"inners":[{"key":"k","ke":1}]}`: {"inner.other unknown_member", "inners[0].ke unknown_member"},
		`{"nam":"n"}`: {"name required", "nam unknown_member"},
		`{"name":"n","a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1}`: {
			"a unknown_member", "b unknown_member", "c unknown_member", "d unknown_member", "e unknown_member",
			"f unknown_member", "g unknown_member", "h unknown_member", "i unknown_member", "j unknown_member",
		},
	} {
		for _, method := range []string{"PUT", "POST", "PATCH"} {
			response := ask(t, newGateway().handler(t, row(method, "/form", handle)), method, "/api/v1/form", body)
			if len(want) == 0 && response.Code >= 300 {
				t.Errorf("%s %s: %d %s", method, body, response.Code, response.Body)
			}
			if len(want) > 0 {
				if _, got := problems(t, response.Body.Bytes()); response.Code != 400 || !slices.Equal(got, want) {
					t.Errorf("%s %s: %d %q, want %q", method, body, response.Code, got, want)
				}
			}
		}
	}
}

// TestUnknownNamesAreAnsweredWithTheNearest misspells a parameter and a member.
func TestUnknownNamesAreAnsweredWithTheNearest(t *testing.T) {
	for query, want := range map[string]string{
		"must=m&msut=a":  `{"field":"msut","code":"unknown_parameter","message":"There is no parameter msut; did you mean must?"`,
		"must=m&other=a": `{"field":"other","code":"unknown_parameter","message":"There is no parameter other."`,
		"must=m&env=x":   `{"field":"env","code":"unknown_parameter","message":"There is no parameter env."`,
	} {
		response := ask(t, formHandler(t), "POST", "/api/v1/form?"+query, `{"name":"n"}`)
		if response.Code != 400 || !strings.Contains(response.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", query, response.Code, response.Body, want)
		}
	}
	response := ask(t, formHandler(t), "POST", "/api/v1/form?must=m", `{"name":"n","lables":{}}`)
	if want := `"message":"There is no field lables; did you mean labels?"`; response.Code != 400 || !strings.Contains(response.Body.String(), want) {
		t.Errorf("%d %s, want %s", response.Code, response.Body, want)
	}
}

// ruled is an input with rules over its body.
type ruled struct {
	Body content `body:"json"`
}

func (r *ruled) Check(*route.Call) []domain.FieldError {
	var found []domain.FieldError
	for _, field := range []string{"name", "inners[0].key", "inners[0]", "count"} {
		found = append(found, domain.FieldError{Field: field, Code: "against_rule"})
	}
	return found
}

// TestRulesOfWhatWasRead expects no broken rules for fields that could not be read.
func TestRulesOfWhatWasRead(t *testing.T) {
	handler := newGateway().handler(t, row("POST", "/form", func(context.Context, *route.Call, ruled) (string, error) { return "", nil }))
	for body, want := range map[string][]string{
		``:                                  {" empty_body"},
		`{"name":`:                          {" invalid_json"},
		`[]`:                                {" invalid_type"},
		`{"name":"n"}`:                      {"name against_rule", "inners[0].key against_rule", "inners[0] against_rule", "count against_rule"},
		`{"name":1,"inners":[3]}`:           {"name invalid_type", "inners[0] invalid_type", "count against_rule"},
		`{"name":"n","inners":[{}]}`:        {"inners[0].key required", "name against_rule", "inners[0] against_rule", "count against_rule"},
		`{"name":"n","inners":1,"count":1}`: {"inners invalid_type", "name against_rule", "count against_rule"},
	} {
		response := ask(t, handler, "POST", "/api/v1/form", body)
		if _, got := problems(t, response.Body.Bytes()); response.Code != 400 || !slices.Equal(got, want) {
			t.Errorf("%s: %d %q, want %q", body, response.Code, got, want)
		}
	}
}

func TestRefusedInput(t *testing.T) {
	for _, test := range []struct {
		body    string
		headers []string
		want    domain.Code
	}{
		{`{"name":"n"}`, []string{"Content-Type: text/plain"}, domain.CodeUnsupportedMedia},
		{`{"name":"n"}`, []string{"Content-Type: application/x-www-form-urlencoded"}, domain.CodeUnsupportedMedia},
		{`{"name":"n"}`, []string{"Content-Type: application/json; charset=latin1"}, domain.CodeUnsupportedMedia},
		{`{"name":"n"}`, []string{"Content-Type: ;"}, domain.CodeUnsupportedMedia},
		{`{"name":"n"}`, []string{"Content-Encoding: gzip"}, domain.CodeUnsupportedMedia},
		{`{"name":"` + strings.Repeat("n", route.MaxBodyBytes) + `"}`, nil, domain.CodeTooLarge},
		{`{"name":"n"}`, []string{"Accept: text/html"}, domain.CodeNotAcceptable},
		{`{"name":"n"}`, []string{"Accept: text/event-stream"}, domain.CodeNotAcceptable},
		{`{"name":"n"}`, []string{"Accept: */*, application/json;q=0"}, domain.CodeNotAcceptable},
	} {
		response := ask(t, formHandler(t), "POST", "/api/v1/form?must=m", test.body, test.headers...)
		if code, _ := problems(t, response.Body.Bytes()); code != test.want || response.Code != domain.InfoOf(test.want).Status {
			t.Errorf("%v: %d %s", test.headers, response.Code, response.Body)
		}
	}
	for _, header := range []string{"Content-Type: application/merge-patch+json", "Accept: text/html, application/*;q=0.1", "Accept: */*;q=0.5", "Content-Encoding: identity"} {
		if response := ask(t, formHandler(t), "POST", "/api/v1/form?must=m", `{"name":"n"}`, header); response.Code != 200 {
			t.Errorf("%s: %d %s", header, response.Code, response.Body)
		}
	}
}

func FuzzInput(f *testing.F) {
	debug.SetMaxStack(16 << 20)
	f.Add("must=m", `{"name":`+strings.Repeat("[", 1<<20))
	handler := formHandler(f)
	f.Add("must=m&words=a", `{"name":"n","count":3,"inners":[{"key":"k"}],"until":null}`)
	f.Add("must=%zz&flag=1", `[1,2`)
	f.Add("", "{\"name\":\"\\u0000\"}")
	f.Fuzz(func(t *testing.T, query, body string) {
		request := "/api/v1/form?" + strings.Map(func(r rune) rune {
			if r <= ' ' || r > '~' || r == '#' {
				return -1
			}
			return r
		}, query)
		response := ask(t, handler, "POST", request, body)
		if response.Code != 200 && response.Code != 400 && response.Code != 413 {
			t.Errorf("%q %q: %d %s", query, body, response.Code, response.Body)
		}
		if !json.Valid(response.Body.Bytes()) {
			t.Errorf("no JSON: %q", response.Body)
		}
	})
}
