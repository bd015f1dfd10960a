package share_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/filter"
	"svc/domain/share"
)

func TestShareShowsWhatItsOwnerTurnedOn(t *testing.T) {
	t.Parallel()
	always := []filter.Dimension{filter.DimReferrerDomain, filter.DimSource, filter.DimMedium, filter.DimDevice}
	for name, test := range map[string]struct {
		share share.Share
		more  []filter.Dimension
	}{
		"nothing":   {},
		"pages":     {share.Share{Pages: true}, []filter.Dimension{filter.DimPath, filter.DimEntryPath, filter.DimExitPath}},
		"campaigns": {share.Share{Campaigns: true}, []filter.Dimension{filter.DimUTMSource, filter.DimUTMMedium, filter.DimUTMCampaign}},
		"locations": {share.Share{Locations: true}, []filter.Dimension{filter.DimCountry, filter.DimRegion, filter.DimCity}},
		"browsers":  {share.Share{Browsers: true}, []filter.Dimension{filter.DimBrowser, filter.DimOS}},
	} {
		for _, dimension := range append(filter.Dimensions(), "nonsense") {
			want := slices.Contains(always, dimension) || slices.Contains(test.more, dimension)
			if got := test.share.Shows(dimension); got != want {
				t.Errorf("%s: shows %s: %t, want %t", name, dimension, got, want)
			}
		}
	}
}

func TestShareHides(t *testing.T) {
	t.Parallel()
	share := share.Share{PrivatePaths: []string{"/admin*", "/team"}}
	for value, want := range map[string]bool{
		"/": false, "/pricing": false, "/team": true, "/team/": true, "/teams": false, "/team/a": false,
		"/admin": true, "/admin/users": true, "/administration": true, "/docs/admin": false,
		"/users/ada@acme.example": true, "/users/ada%40acme.example": true,
		"/reset/3f2504e04f8911d39a0c0305e82c3301": true, "/orders/3f2504e0-4f89-11d3-9a0c-0305e82c3301": true,
		"/invite/abcDEF123ghiJKL456mnop": true, "/blog/2026/11/a-very-long-title-with-many-words-2026": false,
		"/deadbeefdeadbeef": false, "/photo/20261120153000123": true, "/articles/internationalization": false,
	} {
		if got := share.Hides(filter.DimPath, value); got != want {
			t.Errorf("hides %s: %t, want %t", value, got, want)
		}
	}
	for value, want := range map[string]bool{"newsletter": false, "ada@acme.example": true, "3f2504e04f8911d39a0c0305e82c3301": false} {
		if got := share.Hides(filter.DimUTMCampaign, value); got != want {
			t.Errorf("hides the campaign %s: %t, want %t", value, got, want)
		}
	}
}

func TestShareLinks(t *testing.T) {
	t.Parallel()
	ref := domain.AppRef{Org: "acme", App: "web"}
	for _, test := range []struct {
		share share.Share
		want  []string
	}{
		{share.Share{}, nil},
		{share.Share{LegacyLink: true}, nil},
		{share.Share{ID: "a"}, []string{"a"}},
		{share.Share{ID: "a", LegacyLink: true}, []string{"a", "acme/web"}},
	} {
		if got := test.share.Links(ref); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%+v: %v, want %v", test.share, got, test.want)
		}
	}
	if got := share.ID([]byte("\x00\x01abcdefghij")); got != "00016162636465666768696a" {
		t.Errorf("the id is %s", got)
	}
}

func TestSharePatchProblems(t *testing.T) {
	t.Parallel()
	problem := func(field string) domain.FieldError {
		return domain.FieldError{Field: field, Code: "invalid_path", Message: "A path begins with a slash, has at most 200 bytes, and a * only at its end."}
	}
	many := slices.Repeat([]string{"/a"}, 101)
	for name, test := range map[string]struct {
		paths []string
		want  []domain.FieldError
	}{
		"none":     {[]string{}, nil},
		"good":     {[]string{"/", "/*", "/a*"}, nil},
		"bad":      {[]string{"", "a", "/a*b", "/**", "/" + strings.Repeat("a", 200)}, []domain.FieldError{problem("privatePaths[0]"), problem("privatePaths[1]"), problem("privatePaths[2]"), problem("privatePaths[3]"), problem("privatePaths[4]")}},
		"too many": {many, []domain.FieldError{{Field: "privatePaths", Code: "too_many", Message: "A page has at most 100 private paths."}}},
	} {
		if got := (share.Patch{PrivatePaths: &test.paths}).Validate(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	var sh share.Share
	paths := []string{"/b", "/a", "/b"}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if err := sh.Configure(share.Patch{PrivatePaths: &paths}, now); err != nil || !slices.Equal(sh.PrivatePaths, []string{"/a", "/b"}) {
		t.Errorf("%v %v", err, sh.PrivatePaths)
	}
	if err := sh.Configure(share.Patch{}, now); domain.CodeOf(err) != domain.CodeInvalidRequest || sh.Revision != 1 {
		t.Errorf("an empty patch: %v, revision %d", err, sh.Revision)
	}
}

// TestAPageThatIsPublishedAgainShowsNoPanelOfTheEarlierOne publishes, disables, configures and republishes a page.
func TestAPageThatIsPublishedAgainShowsNoPanelOfTheEarlierOne(t *testing.T) {
	t.Parallel()
	now, yes, paths := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC), true, []string{"/admin*"}
	every := share.Patch{Pages: &yes, Campaigns: &yes, Locations: &yes, Browsers: &yes, LegacyLink: &yes, PrivatePaths: &paths}
	for name, test := range map[string]struct {
		between *share.Patch
		patch   share.Patch
		want    share.Share
	}{
		"without settings":                {nil, share.Patch{}, share.Share{Revision: 3}},
		"with one panel":                  {nil, share.Patch{Locations: &yes}, share.Share{Locations: true, Revision: 3}},
		"after a change of what is ended": {&share.Patch{Pages: &yes}, share.Patch{}, share.Share{Revision: 4}},
	} {
		var share share.Share
		if err := errors.Join(share.Publish("aa", every, now), share.Disable(now)); err != nil {
			t.Fatal(err)
		}
		if test.between != nil {
			if err := share.Configure(*test.between, now); err != nil {
				t.Fatal(err)
			}
		}
		err := share.Publish("bb", test.patch, now)
		test.want.ID, test.want.PrivatePaths, test.want.PublishedAt, test.want.UpdatedAt = "bb", paths, &now, &now
		if err != nil || !reflect.DeepEqual(share, test.want) {
			t.Errorf("%s: %+v %v, want %+v", name, share, err, test.want)
		}
	}
}
