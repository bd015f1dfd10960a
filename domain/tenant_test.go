package domain_test

import (
	"strings"
	"testing"

	"svc/domain"
)

func TestSlugify(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "  ": "", "My App": "my-app", "--a--b--": "a-b", "Crème Brûlée": "creme-brulee", "Cre\u0300me": "creme", "Straße": "strasse", "Łódź": "lodz", "Ærø": "aero",
		"日本": "", "a日b": "a-b", "İstanbul": "istanbul", "A.B/C": "a-b-c", strings.Repeat("a", 60): strings.Repeat("a", 48), strings.Repeat("a", 47) + " b": strings.Repeat("a", 47),
		"ÿŷ Đđ Þ œ": "yy-dd-th-oe", "😀": "", "a\x00b": "a-b", "a\xffb": "a-b",
	} {
		if got := domain.Slugify(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestValidSlug(t *testing.T) {
	for slug, want := range map[string]bool{
		"a": true, "a-b-1": true, strings.Repeat("a", 48): true, "": false, "-a": false, "a-": false, "a--b": false, "A": false, "a_b": false, strings.Repeat("a", 49): false,
		"new": false, "api": false, "docs": false, "s": false, "embed": false, "news": true,
	} {
		if got := domain.ValidSlug(slug); got != want {
			t.Errorf("%q: %v", slug, got)
		}
	}
}

func TestApplicationLooksUp(t *testing.T) {
	app := domain.NewApplication(domain.AppSpec{Name: "Web", Timezone: "Asia/Tokyo"}, "web", domain.Organization{Slug: "acme"}, domain.AppIDs{Numbers: [3]uint64{1, 2, 3}}, day())
	for slug, want := range map[string]uint64{"": 1, "production": 1, "staging": 2, "development": 3, "Production": 0, "moon": 0} {
		if env, ok := app.Environment(slug); env.Number != want || ok != (want != 0) {
			t.Errorf("%q: %+v", slug, env)
		}
	}
	if !app.Has(domain.ModuleAnalytics) || app.Has(domain.ModuleAI) || app.Location().String() != "Asia/Tokyo" || app.Ref().String() != "acme/web" {
		t.Errorf("%+v", app)
	}
	if lost := (&domain.Application{Timezone: "Gone/Away"}); lost.Location().String() != "UTC" {
		t.Errorf("%s", lost.Location())
	}
}

func FuzzSlugify(f *testing.F) {
	for _, seed := range []string{"My App", "Straße", "İ", "--", strings.Repeat("ß", 40), "a\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		slug := domain.Slugify(name)
		if slug != "" && !domain.ReservedSlug(slug) && !domain.ValidSlug(slug) {
			t.Errorf("%q derives the invalid %q", name, slug)
		}
		if again := domain.Slugify(slug); again != slug {
			t.Errorf("%q derives %q and then %q", name, slug, again)
		}
	})
}
