package domain_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/analytics"
	"svc/domain/event"
)

func TestMaskShapes(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "visitor-1": "visitor-1", "ada@acme.example": "a***************", "x ada@acme.example, bob@b.de.": "x a***************, b*******.",
		"https://x.example/?e=ada@acme.example&f=1":   "https://x.example/?e=a***************&f=1",
		"https://x.example/?e=ada%40acme.example&f=1": "https://x.example/?e=a*****************&f=1",
		"/u/ada%2540acme.example/":                    "/u/a*******************/",
		"mailto:ada.b+c@sub.acme.example":             "mailto:a***********************",
		"äda@äcme.example":                            "ä***************",
		"@handle":                                     "@handle", "a@b": "a@b", "pkg@1.2.3": "pkg@1.2.3", "100% @ home": "100% @ home", "a@b@c.de": "a@b*****",
		"50%40": "50%40", "%40x.de": "%40x.de", "ada@acme.example:8080/x": "a***************:8080/x", "a@b.c1.5": "a*******",
	} {
		if got := domain.MaskShapes(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

func TestMaskLive(t *testing.T) {
	const mail, hidden = "ada@acme.example", "a***************"
	shown := func(word string) analytics.Live {
		return analytics.Live{
			Visitors: 2, Pages: []analytics.LiveRow{{Value: "/u/" + word, Visitors: 1}, {Value: "/", Visitors: 1}}, Sources: []analytics.LiveRow{{Value: word, Visitors: 2}},
			Countries: []analytics.LiveRow{{Value: "DE", Visitors: 2}}, Devices: []analytics.LiveRow{},
		}
	}
	view := shown(mail)
	held := view
	view.Mask()
	if want := shown(hidden); !reflect.DeepEqual(view, want) {
		t.Errorf("got %+v\nwant %+v", view, want)
	}
	if !reflect.DeepEqual(held, shown(mail)) {
		t.Errorf("the view that others hold is %+v", held)
	}
}

func TestMaskEvent(t *testing.T) {
	const mail, hidden = "ada@acme.example", "a***************"
	e := event.Event{
		ID: "evt_1", Name: "signup", DistinctID: mail, AnonymousID: mail, URL: "https://x/?q=" + mail, Path: "/" + mail, Title: "Hi " + mail,
		Referrer: mail, PersonID: "per_1", SessionID: "ses_1", Country: "DE", Attribution: event.Attribution{Source: "google", UTMTerm: mail},
		Properties: json.RawMessage(`{"n":12345678901234567890,"list":["ada@acme.example",{"e":"ada\u0040acme.example"}],"ada@acme.example":true,"html":"<b>"}`),
	}
	want := e
	want.DistinctID, want.AnonymousID, want.URL, want.Path, want.Title, want.Referrer = hidden, hidden, "https://x/?q="+hidden, "/"+hidden, "Hi "+hidden, hidden
	want.UTMTerm = hidden
	want.Properties = json.RawMessage(`{"a***************":true,"html":"<b>","list":["a***************",{"e":"a***************"}],"n":12345678901234567890}`)
	if e.Mask(); !reflect.DeepEqual(e, want) {
		t.Errorf("%+v\nwant %+v", e, want)
	}
	broken := event.Event{Properties: json.RawMessage(`{"e":"a@b.de"`)}
	if broken.Mask(); string(broken.Properties) != "{}" {
		t.Errorf("%s", broken.Properties)
	}
}

func FuzzMaskShapes(f *testing.F) {
	for _, seed := range []string{"ada@acme.example", "a%2540b.de@c.de", "x@y@z.de", "%%40a@b.c", strings.Repeat("a%40", 50) + "b.de"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		masked := domain.MaskShapes(s)
		if utf8.ValidString(s) && utf8.RuneCountInString(masked) != utf8.RuneCountInString(s) {
			t.Errorf("%q becomes %q", s, masked)
		}
		if strings.Contains(domain.MaskShapes("<"+s+"> ada@acme.example"), "ada@acme.example") {
			t.Errorf("an address behind %q stays", s)
		}
	})
}

func TestAnIncidentIsMasked(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"user": "ada@example.com", "phone": "0170", "plan": "pro"}
	incident := alert.Incident{ID: "inc_1", Title: "Slow — p95 of ada@example.com", Labels: labels}
	want := alert.Incident{ID: "inc_1", Title: "Slow — p95 of a**************", Labels: map[string]string{"user": "a**************", "phone": "0***", "plan": "pro"}}
	if got := incident.Masked(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if labels["phone"] != "0170" {
		t.Error("masking changed the incident itself")
	}
}
