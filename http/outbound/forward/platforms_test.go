package forward

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/destination"
	"svc/domain/event"
)

func noon() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) }

// platform is a server that records its requests and answers by a function.
type platform struct {
	*httptest.Server
	requests []*http.Request
	bodies   []map[string]any
}

func newPlatform(t *testing.T, answer func(body map[string]any) (int, string)) *platform {
	t.Helper()
	p := &platform{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if strings.HasSuffix(r.URL.Path, "/token") {
			if !strings.Contains(string(raw), "refresh_token=refresh-secret") {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			fmt.Fprint(w, `{"access_token":"access-secret","expires_in":3600}`)
			return
		}
		var body map[string]any
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Errorf("a body is %s", raw)
		}
		p.requests, p.bodies = append(p.requests, r), append(p.bodies, body)
		status, text := answer(body)
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}))
	t.Cleanup(p.Close)
	return p
}

// bought is a conversion of some age.
func bought(id string, age time.Duration) destination.DispatchItem {
	value, quantity := 12.5, 2.0
	return destination.DispatchItem{
		ID: "dlv_" + id, Attempt: 1, Contact: &destination.Contact{ID: "per_1", Name: "Ada", Email: " Ada.L@Gmail.com ", Phone: "+44 20 7946-0958"},
		Conversion: &destination.Conversion{
			EventID: id, Name: "Purchase", SourceEvent: "purchase", At: noon().Add(-age), Environment: "production", DistinctID: "ada", Value: &value, Currency: "EUR",
			Contents: []destination.ConversionItem{{ID: "s1", Quantity: &quantity}}, Properties: json.RawMessage(`{"order_id":"o-1"}`), UserAgent: "Firefox",
			Context: destination.ConversionContext{URL: "https://shop.example/thanks", City: "New York", Country: "US", ClickIDs: event.ClickIDs{GCLID: "g1", FBCLID: "f1", TTCLID: "t1", LiFatID: "l1"}},
		},
	}
}

// sendTo sends conversions to a server that replaces all platforms.
func sendTo(t *testing.T, p *platform, kind destination.Kind, fields destination.PersonFields, items ...destination.DispatchItem) []destination.DispatchOutcome {
	t.Helper()
	sender := NewSender(p.Client(), Bases{Meta: p.URL, Google: p.URL, GoogleToken: p.URL + "/token", TikTok: p.URL, LinkedIn: p.URL}, noon)
	secret := domain.Secret("token-secret")
	if kind == destination.Google {
		secret = `{"developerToken":"developer-secret","clientId":"c","clientSecret":"client-secret","refreshToken":"refresh-secret"}`
	}
	d := &destination.Destination{ID: "dst_1", Spec: destination.Spec{Kind: kind, Config: destination.Config{
		PixelID: "pixel", CustomerID: "111", LoginCustomerID: "222", ConversionActionID: "333", PersonFields: fields,
	}}}
	return sender.Send(t.Context(), destination.DispatchRequest{Destination: d, Credential: destination.Credential{Secret: secret}, Items: items})
}

const day = 24 * time.Hour

// dig follows a path of members and indexes.
func dig(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			members, _ := value.(map[string]any)
			value = members[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

// TestWhatPlatformsAreTold checks the requests against each platform's documentation: the address, the headers, the
// required members, the hashes.
func TestWhatPlatformsAreTold(t *testing.T) {
	const phone = "+442079460958"
	for _, test := range []struct {
		kind   destination.Kind
		answer string
		path   string
		header map[string]string
		member map[string]any
	}{
		{
			destination.Meta, `{"events_received":1}`, "/v26.0/pixel/events",
			map[string]string{"Authorization": "Bearer token-secret"},
			map[string]any{
				"data 0 event_name": "Purchase", "data 0 event_id": "e1", "data 0 event_time": float64(noon().Unix()), "data 0 action_source": "website", "data 0 event_source_url": "https://shop.example/thanks",
				"data 0 user_data em 0": destination.SHA256Hex("ada.l@gmail.com"), "data 0 user_data ph 0": destination.SHA256Hex(phone[1:]), "data 0 user_data external_id 0": destination.SHA256Hex("ada"),
				"data 0 user_data ct 0": destination.SHA256Hex("newyork"), "data 0 user_data client_user_agent": "Firefox", "data 0 user_data fbc": fmt.Sprintf("fb.1.%d.f1", noon().UnixMilli()),
				"data 0 custom_data value": 12.5, "data 0 custom_data currency": "EUR", "data 0 custom_data order_id": "o-1", "data 0 custom_data contents 0 id": "s1",
			},
		},
		{
			destination.Google, `{"results":[{}]}`, "/v26/customers/111:uploadClickConversions",
			map[string]string{"Authorization": "Bearer access-secret", "Developer-Token": "developer-secret", "Login-Customer-Id": "222"},
			map[string]any{
				"partialFailure": true, "conversions 0 gclid": "g1", "conversions 0 conversionAction": "customers/111/conversionActions/333", "conversions 0 conversionDateTime": "2026-11-23 12:00:00+00:00",
				"conversions 0 orderId": "e1", "conversions 0 conversionValue": 12.5, "conversions 0 currencyCode": "EUR",
				"conversions 0 userIdentifiers 0 hashedEmail": destination.SHA256Hex("adal@gmail.com"), "conversions 0 userIdentifiers 1 hashedPhoneNumber": destination.SHA256Hex(phone),
			},
		},
		{
			destination.TikTok, `{"code":0,"message":"OK"}`, "/open_api/v1.3/event/track/",
			map[string]string{"Access-Token": "token-secret"},
			map[string]any{
				"event_source": "web", "event_source_id": "pixel", "data 0 event": "Purchase", "data 0 event_id": "e1", "data 0 event_time": float64(noon().Unix()),
				"data 0 user email": destination.SHA256Hex("ada.l@gmail.com"), "data 0 user phone": destination.SHA256Hex(phone), "data 0 user ttclid": "t1", "data 0 page url": "https://shop.example/thanks",
				"data 0 properties value": 12.5, "data 0 properties currency": "EUR", "data 0 properties contents 0 content_id": "s1",
			},
		},
		{
			destination.LinkedIn, `{"elements":[{"status":201}]}`, "/rest/conversionEvents",
			map[string]string{"Authorization": "Bearer token-secret", "Linkedin-Version": "202608", "X-Restli-Protocol-Version": "2.0.0", "X-Restli-Method": "BATCH_CREATE"},
			map[string]any{
				"elements 0 conversion": "urn:lla:llaPartnerConversion:333", "elements 0 conversionHappenedAt": float64(noon().UnixMilli()), "elements 0 eventId": "e1",
				"elements 0 user userIds 0 idType": "SHA256_EMAIL", "elements 0 user userIds 0 idValue": destination.SHA256Hex("ada.l@gmail.com"), "elements 0 user userIds 1 idValue": "l1",
				"elements 0 conversionValue currencyCode": "EUR", "elements 0 conversionValue amount": "12.5",
			},
		},
	} {
		p := newPlatform(t, func(map[string]any) (int, string) { return http.StatusOK, test.answer })
		made := sendTo(t, p, test.kind, destination.PersonHashed, bought("e1", 0))
		if len(p.requests) != 1 || !made[0].OK {
			t.Fatalf("%s: %d requests, %+v", test.kind, len(p.requests), made)
		}
		if got := p.requests[0].URL.Path; got != test.path {
			t.Errorf("%s: the path is %s, want %s", test.kind, got, test.path)
		}
		for name, want := range test.header {
			if got := p.requests[0].Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", test.kind, name, got, want)
			}
		}
		for path, want := range test.member {
			if got := dig(p.bodies[0], steps(path)...); got != want {
				t.Errorf("%s: %s is %v, want %v", test.kind, path, got, want)
			}
		}
		for _, secret := range []string{"secret", destination.SHA256Hex("ada.l@gmail.com"), destination.SHA256Hex("adal@gmail.com"), destination.SHA256Hex(phone)} {
			if strings.Contains(made[0].Request+made[0].Response, secret) {
				t.Errorf("%s: the record shows %s: %s", test.kind, secret, made[0].Request)
			}
		}
	}
}

// steps splits a path at its spaces; numbers are indexes.
func steps(path string) (out []any) {
	for _, word := range strings.Fields(path) {
		if len(word) == 1 && word[0] >= '0' && word[0] <= '9' {
			out = append(out, int(word[0]-'0'))
			continue
		}
		out = append(out, word)
	}
	return out
}

// TestWhichAnswersOfPlatformsAreTriedAgain distinguishes transient errors from permanent ones, by the bodies that each
// platform documents.
func TestWhichAnswersOfPlatformsAreTriedAgain(t *testing.T) {
	partial := func(word string) string {
		return `{"partialFailureError":{"code":3,"message":"m","details":[{"errors":[{"errorCode":{"conversionUploadError":"` + word + `"},"message":"m","location":{"fieldPathElements":[{"fieldName":"conversions","index":0}]}}]}]},"results":[{}]}`
	}
	for name, test := range map[string]struct {
		kind      destination.Kind
		status    int
		answer    string
		ok, retry bool
	}{
		"meta: a bad token":               {destination.Meta, 400, `{"error":{"message":"Invalid OAuth access token","type":"OAuthException","code":190}}`, false, false},
		"meta: a limit":                   {destination.Meta, 400, `{"error":{"message":"User request limit reached","code":17}}`, false, true},
		"meta: transient":                 {destination.Meta, 500, `{"error":{"message":"x","code":2,"is_transient":true}}`, false, true},
		"meta: a bad parameter":           {destination.Meta, 400, `{"error":{"message":"Invalid parameter","code":100,"error_subcode":2804019}}`, false, false},
		"google: a click not found":       {destination.Google, 200, partial("CLICK_NOT_FOUND"), false, false},
		"google: a repetition":            {destination.Google, 200, partial("CLICK_CONVERSION_ALREADY_EXISTS"), true, false},
		"google: too soon":                {destination.Google, 200, partial("TOO_RECENT_CLICK"), false, true},
		"google: the quota":               {destination.Google, 429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}`, false, true},
		"google: no permission":           {destination.Google, 403, `{"error":{"code":403,"status":"PERMISSION_DENIED"}}`, false, false},
		"tiktok: a bad parameter":         {destination.TikTok, 200, `{"code":40002,"message":"Invalid value"}`, false, false},
		"tiktok: too many":                {destination.TikTok, 200, `{"code":40100,"message":"Requests made too frequently"}`, false, true},
		"tiktok: their error":             {destination.TikTok, 200, `{"code":50000,"message":"System error"}`, false, true},
		"tiktok: no JSON":                 {destination.TikTok, 200, `<html>`, false, true},
		"linkedin: a bad element":         {destination.LinkedIn, 200, `{"elements":[{"status":400,"error":{"message":"m"}}]}`, false, false},
		"linkedin: an element, too many":  {destination.LinkedIn, 200, `{"elements":[{"status":429}]}`, false, true},
		"linkedin: the whole, too many":   {destination.LinkedIn, 429, `{}`, false, true},
		"linkedin: the token has expired": {destination.LinkedIn, 401, `{"serviceErrorCode":65601}`, false, false},
	} {
		p := newPlatform(t, func(map[string]any) (int, string) { return test.status, test.answer })
		if got := sendTo(t, p, test.kind, destination.PersonHashed, bought("e1", 0))[0]; got.OK != test.ok || got.Retry != test.retry {
			t.Errorf("%s: ok %t, retry %t, %s", name, got.OK, got.Retry, got.Error)
		}
	}
}

// TestWhatPlatformsDoNotTakeIsNotSent fails conversions that are too old or have no person, without a request; the rest
// of the batch is sent.
func TestWhatPlatformsDoNotTakeIsNotSent(t *testing.T) {
	nobody := bought("nobody", 0)
	nobody.Contact, nobody.Conversion.Context.ClickIDs = nil, event.ClickIDs{}
	for kind, age := range map[destination.Kind]time.Duration{destination.Meta: 7 * day, destination.TikTok: 7 * day, destination.LinkedIn: 90 * day, destination.Google: 90 * day} {
		p := newPlatform(t, func(map[string]any) (int, string) { return http.StatusOK, `{"code":0}` })
		made := sendTo(t, p, kind, destination.PersonHashed, bought("old", age+time.Minute), bought("new", age-time.Minute), nobody)
		needsSomebody := kind == destination.LinkedIn || kind == destination.Google
		if made[0].OK || made[0].Retry || made[0].Error == "" || !made[1].OK || made[2].OK == needsSomebody {
			t.Errorf("%s: %+v", kind, made)
		}
		if len(p.requests) != 1 || strings.Contains(fmt.Sprint(p.bodies[0]), "old") {
			t.Errorf("%s: %d requests, %v", kind, len(p.requests), p.bodies)
		}
	}
}

// TestNothingOfThePersonIsSentWhereNothingMay checks that no request contains a hash of the person.
func TestNothingOfThePersonIsSentWhereNothingMay(t *testing.T) {
	for _, kind := range []destination.Kind{destination.Meta, destination.TikTok, destination.LinkedIn, destination.Google} {
		p := newPlatform(t, func(map[string]any) (int, string) { return http.StatusOK, `{"code":0}` })
		sendTo(t, p, kind, destination.PersonNone, bought("e1", 0))
		for _, word := range []string{"ada.l@gmail.com", "adal@gmail.com", "+442079460958", "442079460958", "ada"} {
			if text := fmt.Sprint(p.bodies); strings.Contains(text, destination.SHA256Hex(word)) {
				t.Errorf("%s is sent %q: %s", kind, word, text)
			}
		}
	}
}

// TestABadEventDoesNotTakeOthersAlong expects that a request that was refused as a whole is sent again for each event
// alone.
func TestABadEventDoesNotTakeOthersAlong(t *testing.T) {
	p := newPlatform(t, func(body map[string]any) (int, string) {
		if strings.Contains(fmt.Sprint(body), "bad") {
			return http.StatusBadRequest, `{"error":{"message":"Invalid parameter","code":100}}`
		}
		return http.StatusOK, `{"events_received":1}`
	})
	made := sendTo(t, p, destination.Meta, destination.PersonHashed, bought("good", 0), bought("bad", 0))
	if !made[0].OK || made[1].OK || made[1].Retry || len(p.requests) != 3 {
		t.Errorf("%d requests, %+v", len(p.requests), made)
	}
}
