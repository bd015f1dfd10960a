package domain_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
)

// day is the instant of the tests.
func day() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// codesOf lists problems as "field code".
func codesOf(problems []domain.FieldError) []string {
	out := []string{}
	for _, p := range problems {
		out = append(out, p.Field+" "+p.Code)
	}
	return out
}

// fieldsOf lists the problems of an error.
func fieldsOf(err error) []string {
	if known, ok := errors.AsType[*domain.Error](err); ok {
		return codesOf(known.Fields)
	}
	return []string{}
}

func TestAppSpecValidate(t *testing.T) {
	long := strings.Repeat("x", 101)
	for name, test := range map[string]struct {
		spec domain.AppSpec
		want []string
	}{
		"least":   {domain.AppSpec{Name: "A"}, []string{}},
		"full":    {domain.AppSpec{Name: "A", Slug: "a-1", Platform: "react-native", URL: "https://a.example/x", Modules: domain.Modules(), Timezone: "Asia/Tokyo"}, []string{}},
		"nothing": {domain.AppSpec{}, []string{"name required"}}, "spaces": {domain.AppSpec{Name: "  "}, []string{"name required"}},
		"long":      {domain.AppSpec{Name: long}, []string{"name too_long"}},
		"all wrong": {domain.AppSpec{Name: "A", Slug: "A", Platform: "vax", URL: "ftp://a", Modules: []domain.Module{"x"}, Timezone: "Local"}, []string{"slug invalid_slug", "platform unknown_value", "url invalid_url", "modules unknown_value", "timezone unknown_timezone"}},
		"reserved":  {domain.AppSpec{Name: "A", Slug: "new"}, []string{"slug invalid_slug"}},
		"ai alone":  {domain.AppSpec{Name: "A", Modules: []domain.Module{domain.ModuleAI, domain.ModuleCommunications, domain.ModuleDestinations}}, []string{"modules requires_data_module"}},
		"ai data":   {domain.AppSpec{Name: "A", Modules: []domain.Module{domain.ModuleAI, domain.ModuleRevenue}}, []string{}},
		"none":      {domain.AppSpec{Name: "A", Modules: []domain.Module{}}, []string{}},
		"relative":  {domain.AppSpec{Name: "A", URL: "/x"}, []string{"url invalid_url"}},
		"escaping":  {domain.AppSpec{Name: "A", Timezone: "../etc/passwd"}, []string{"timezone unknown_timezone"}},
	} {
		if got := codesOf(test.spec.Validate()); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestNewApplication(t *testing.T) {
	org := domain.Organization{ID: "org_1", Slug: "acme", Name: "Acme"}
	ids := domain.AppIDs{App: "app_1", Environments: [3]string{"env_1", "env_2", "env_3"}, Numbers: [3]uint64{7, 8, 9}}
	got := domain.NewApplication(domain.AppSpec{Name: " Web "}, "web", org, ids, day())
	want := domain.Application{
		ID: "app_1", Slug: "web", Name: "Web", Platform: "web", Timezone: "UTC", Modules: domain.DefaultModules(), RetentionDays: 365,
		AllowedOrigins: []string{}, Organization: org, CreatedAt: day(), UpdatedAt: day(), Revision: 1,
		Environments: []domain.Environment{{"env_1", "production", "Production", 7}, {"env_2", "staging", "Staging", 8}, {"env_3", "development", "Development", 9}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	picked := domain.NewApplication(domain.AppSpec{Name: "Web", Modules: []domain.Module{domain.ModuleFlags, domain.ModuleAnalytics, domain.ModuleFlags}}, "web", org, ids, day())
	if !slices.Equal(picked.Modules, []domain.Module{domain.ModuleAnalytics, domain.ModuleFlags}) {
		t.Errorf("%v", picked.Modules)
	}
}

func TestDeriveSlug(t *testing.T) {
	for _, test := range []struct {
		name  string
		taken []string
		want  string
	}{
		{"My App", nil, "my-app"},
		{"My App", []string{"my-app"}, "my-app-2"},
		{"My App", []string{"my-app", "my-app-2"}, "my-app-3"},
		{"new", nil, "new-2"},
		{"…", nil, "app"},
		{strings.Repeat("a", 60), []string{strings.Repeat("a", 48)}, strings.Repeat("a", 46) + "-2"},
	} {
		got := domain.DeriveSlug(test.name, func(s string) bool { return slices.Contains(test.taken, s) })
		if got != test.want || !domain.ValidSlug(got) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestApplicationApply(t *testing.T) {
	base := domain.NewApplication(domain.AppSpec{Name: "Web"}, "web", domain.Organization{}, domain.AppIDs{}, day())
	later := day().Add(time.Hour)
	text := func(s string) *string { return &s }
	number := func(n int) *int { return &n }
	list := func(words ...string) *[]string { return &words }
	modules := func(m ...domain.Module) *[]domain.Module { return &m }
	for name, test := range map[string]struct {
		patch    domain.AppPatch
		changed  []string
		problems []string
		want     func(*domain.Application)
	}{
		"empty": {domain.AppPatch{}, nil, []string{" empty_body"}, nil},
		"same":  {domain.AppPatch{Name: text("Web"), RetentionDays: number(365), AllowedOrigins: list()}, nil, nil, nil},
		"everything": {
			domain.AppPatch{Name: text(" Site "), Timezone: text("Europe/Berlin"), Modules: modules("flags", "analytics", "flags"), AllowedOrigins: list("https://A.example/"), RetentionDays: number(3650)},
			[]string{"name", "timezone", "modules", "allowedOrigins", "retentionDays"},
			nil,
			func(a *domain.Application) {
				a.Name, a.Timezone, a.RetentionDays, a.AllowedOrigins = "Site", "Europe/Berlin", 3650, []string{"https://a.example"}
				a.Modules = []domain.Module{domain.ModuleAnalytics, domain.ModuleFlags}
			},
		},
		"time zone by default": {domain.AppPatch{Timezone: text("")}, nil, nil, nil},
		"all wrong": {
			domain.AppPatch{Name: text(""), Timezone: text("Nowhere"), Modules: modules("ai"), AllowedOrigins: list("*", "x", "https://ok.example", ""), RetentionDays: number(3651)},
			nil,
			[]string{"name required", "timezone unknown_timezone", "modules requires_data_module", "allowedOrigins[1] invalid_origin", "allowedOrigins[3] invalid_origin", "retentionDays out_of_range"},
			nil,
		},
		"no retention": {domain.AppPatch{RetentionDays: number(0)}, nil, []string{"retentionDays out_of_range"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := base, base
			changed, err := got.Apply(test.patch, later)
			if test.want != nil {
				test.want(&want)
				want.Revision, want.UpdatedAt = 2, later
			}
			if problems := fieldsOf(err); !slices.Equal(changed, test.changed) || !slices.Equal(problems, test.problems) || (err == nil) != (test.problems == nil) {
				t.Errorf("changed %v, problems %v", changed, problems)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%+v\nwant %+v", got, want)
			}
		})
	}
}

func TestNormaliseOrigin(t *testing.T) {
	for value, want := range map[string]string{
		"*": "*", " https://Example.com/ ": "https://example.com", "HTTP://example.com:80/a?b#c": "http://example.com", "https://example.com:8443": "https://example.com:8443",
		"http://example.com:443": "http://example.com:443", "https://user:pw@example.com": "https://example.com", "http://[::1]:3000": "http://[::1]:3000",
		"capacitor://localhost": "capacitor://localhost", "http://127.0.0.1": "http://127.0.0.1", "https://example.com:": "https://example.com",
		"": "", "null": "", "example.com": "", "//example.com": "", "https://": "", "https://*.example.com": "https://*.example.com", "https://*.Müller.example:8443": "https://*.xn--mller-kva.example:8443", "https://exämple.com": "https://xn--exmple-cua.com", "https://*.com": "", "https://*": "", "https://a.*.example.com": "", "https://*.*.example.com": "", "https://**.example.com": "", "javascript:alert(1)": "",
		"https://example.com:99999": "", "https://example.com:0": "", "https://a b": "", "https://%41.example": "", "http://[::1": "",
	} {
		got, ok := domain.NormaliseOrigin(value)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
		if again, _ := domain.NormaliseOrigin(got); ok && again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	}
	if _, problems := domain.NormaliseOrigins(slices.Repeat([]string{"https://a.example"}, 500)); len(problems) != 0 {
		t.Errorf("%v", problems)
	}
}

// TestOriginAllowed tests pages of an origin (R2): a wildcard stands for subdomains, and the two forms of a domain are
// equal.
func TestOriginAllowed(t *testing.T) {
	for _, test := range []struct {
		origin  string
		allowed []string
		want    bool
	}{
		{"", nil, true},
		{"https://a.example", nil, false},
		{"https://a.example", []string{"*"}, true},
		{"https://shop.site.example", []string{"https://*.site.example"}, true},
		{"https://SHOP.site.example", []string{"https://*.site.example"}, true},
		{"https://a.b.site.example", []string{"https://*.site.example"}, true},
		{"https://site.example", []string{"https://*.site.example"}, false},
		{"https://.site.example", []string{"https://*.site.example"}, false},
		{"https://evilsite.example", []string{"https://*.site.example"}, false},
		{"https://shop.site.example.evil.net", []string{"https://*.site.example"}, false},
		{"http://shop.site.example", []string{"https://*.site.example"}, false},
		{"https://shop.site.example:8443", []string{"https://*.site.example"}, false},
		{"https://shop.site.example:8443", []string{"https://*.site.example:8443"}, true},
		{"https://*.site.example", []string{"https://*.site.example"}, false},
		{"https://xn--mller-kva.example", []string{"https://xn--mller-kva.example"}, true},
		{"https://müller.example", []string{"https://xn--mller-kva.example"}, true},
		{"https://shop.xn--mller-kva.example", []string{"https://*.xn--mller-kva.example"}, true},
		{"null", []string{"https://*.site.example"}, false},
	} {
		if got := domain.OriginAllowed(test.origin, test.allowed); got != test.want {
			t.Errorf("%q by %q: %t, want %t", test.origin, test.allowed, got, test.want)
		}
	}
}

// TestAnApplicationAllowsItsOwnOrigin creates applications with addresses.
func TestAnApplicationAllowsItsOwnOrigin(t *testing.T) {
	for address, want := range map[string][]string{
		"": {}, "https://Shop.example/start?x=1": {"https://shop.example"}, "https://müller.example": {"https://xn--mller-kva.example"}, "shop.example": {}, "*": {},
	} {
		app := domain.NewApplication(domain.AppSpec{Name: "Shop", URL: address}, "shop", domain.Organization{}, domain.AppIDs{}, time.Time{})
		if !slices.Equal(app.AllowedOrigins, want) {
			t.Errorf("%q allows %q, want %q", address, app.AllowedOrigins, want)
		}
	}
}

func TestKeySpecValidate(t *testing.T) {
	for _, test := range []struct {
		spec domain.KeySpec
		want []string
	}{
		{domain.KeySpec{Kind: domain.KeyPublic, Environment: "production"}, []string{}},
		{domain.KeySpec{}, []string{"kind unknown_value", "environment unknown_value"}},
		{domain.KeySpec{Kind: domain.KeySecret, Environment: "staging", Label: strings.Repeat("x", 101)}, []string{"label too_long"}},
	} {
		if got := codesOf(test.spec.Validate()); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %q, want %q", test.spec, got, test.want)
		}
	}
}
