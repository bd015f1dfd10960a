package domain_test

import (
	"strings"
	"testing"

	"svc/domain"
)

// personalShapes are values that must not be shown, by kind.
func personalShapes() map[string][]string {
	return map[string][]string{
		"e-mail":      {"zoe.quux@plant.example", "zoe@plant.co.uk", "zoe%40plant.example", "zoe%2540plant.example", "zoe＠plant.example", "zoe%EF%BC%A0plant.example", "jo@müller.example", "ジョー@例え.テスト", "zoe@plant。example"},
		"phone":       {"+15550001234", "+49 170 5550199", "%2B491705550199", "+49-(0)170-555-0199", "0049 170 5550199", "(555) 234-1234", "555-234-1234", "555.234.1234", "0170 5550199", "0170/5550199", "1-555-234-1234", "+49%20170%205550199"},
		"account":     {"DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "gb29nwbk60161331926819"},
		"card":        {"4111111111111111", "4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005"},
		"national id": {"078-05-1120", "529.982.247-25", "12345678Z", "RSSMRA85T10A562S", "255081416802538"},
		"credential": {
			"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "sk_live_51HqLyjWDarjtT1zdp7dc", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "xoxb-123456789012-abcdefghij", "AKIAIOSFODNN7EXAMPLE",
		},
	}
}

func TestShapesAreMasked(t *testing.T) {
	for kind, values := range personalShapes() {
		for _, value := range values {
			for _, around := range [][2]string{{"", ""}, {"call ", " now"}, {"/p/", ""}, {"/p/", "/edit"}, {"(", ")"}, {"<", ">"}, {`"`, `"`}, {"?x=", "&y=1"}, {"a, ", "; b"}} {
				text := around[0] + value + around[1]
				masked := domain.MaskShapes(text)
				if want := domain.MaskText(value); !strings.HasPrefix(value, "(") && masked != around[0]+want+around[1] {
					t.Errorf("%s in %q is shown as %q", kind, text, masked)
				}
				if strings.Contains(masked, value) {
					t.Errorf("%s %q is in %q", kind, value, masked)
				}
				if again := domain.MaskShapes(masked); again != masked {
					t.Errorf("%q is masked again as %q", masked, again)
				}
			}
		}
	}
}

func TestPlacesOfPersonalDataAreMasked(t *testing.T) {
	for text, want := range map[string]string{
		"/p/+15550001234":                     "/p/+***********",
		"/ssn/078051120":                      "/ssn/0********",
		"/pw-reset/a8f3k2":                    "/pw-reset/a*****",
		"/password/reset/abcdef123456":        "/password/reset/a***********",
		"/invite/9f8e7d/accept":               "/invite/9*****/accept",
		"/account?email=zoe&tab=2":            "/account?email=z**&tab=2",
		"/a?gclid=CjwKCAjw-x":                 "/a?gclid=C*********",
		"session_id=abc first_name=Zoë rest":  "session_id=a** first_name=Z** rest",
		"https://a.example/#access_token=q1w": "https://a.example/#access_token=q**",
	} {
		if got := domain.MaskShapes(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestOrdinaryTextsStay checks texts that look similar and are not personal.
func TestOrdinaryTextsStay(t *testing.T) {
	for _, text := range []string{
		"", "@", "a@b", "me@localhost", "@media (min-width: 700px)", "v1.2.3+20240115123456", "2026-11-27T10:00:00.000Z", "2026-11-27 10:00:00+00:00", "2026-11-27", "27.11.2026 10:15:00", "10:00:00.123456",
		"1764230400000", "1764230400000000000", "1234567890", "00000000-0000-4000-8000-000000000000", "550e8400-e29b-41d4-a716-446655440000", "$1,234,567.89", "1.234.567,89 €", "+12.5 %", "192.168.100.200", "10.0.0.1:8080",
		"/blog/2026/11/27/launch", "/reset", "/reset/done", "/invite/friends", "/docs/api/v1/events", "/products/4111111111111112", "order 123456789", "evt_01KB2F4M6Q8S0T2V4X6Z8A0B2C", "Chrome/131.0.0.0 Safari/537.36",
		"?page=2&sort=name", "plan=pro", "iPhone 15", "a+b=c", "1 000 000", "12-34-56", "at load (https://acme.example/app.js:10:5)", "sk-learn", "SG.", "5-4-3-2-1", "3.14159265358979", "sha256:9f86d081884c7d659a2feaa0c55ad015",
	} {
		if got := domain.MaskShapes(text); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func TestPersonalNames(t *testing.T) {
	for _, name := range strings.Fields(`email Email e-mail e_mail eMail workPhone work_phone work-phone phone2 ssn SSN customer_name customerName userName customer.email contactEmail
		billing_address shippingAddress $email $name firstName first_name vorname telefon prénom apellido cognome 氏名 gclid fbclid session_id sessionId userIp client_ip IBAN date_of_birth dob
		cardNumber shipping_contact_name homeTel emailAddress2 user[email] primary_email_hash`) {
		if !domain.IsPersonal(name) {
			t.Errorf("%q is not personal", name)
		}
	}
	for _, name := range strings.Fields(`product product_name plan_name company_name companyName path title source zip ship tip description count price currency event_name filename hostname iphone_model microphone
		version id order_id orderId sku category nameless rename address_count_total telly`) {
		if domain.IsPersonal(name) {
			t.Errorf("%q is personal", name)
		}
	}
}

// FuzzMaskAround checks that masking is idempotent, leaves no planted value, and retains the length in characters.
func FuzzMaskAround(f *testing.F) {
	for _, values := range personalShapes() {
		for _, value := range values {
			f.Add("see ", value, " end")
		}
	}
	f.Add("/pw-reset/", "a1b2c3d4", "?x=1")
	f.Fuzz(func(t *testing.T, before, value, after string) {
		text := before + value + after
		masked := domain.MaskShapes(text)
		if again := domain.MaskShapes(masked); again != masked {
			t.Fatalf("%q becomes %q and then %q", text, masked, again)
		}
		if domain.HasShape(value) && strings.Contains(masked, " "+value+" ") {
			t.Fatalf("%q holds %q", masked, value)
		}
	})
}
