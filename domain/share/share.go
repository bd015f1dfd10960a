package share

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/filter"
)

// IDBytes is the number of random bytes in a share's id: 96 bits, 24 hex digits.
const IDBytes = 12

// Limits of a share's settings.
const (
	MaxPrivatePaths    = 100
	MaxPrivatePathSize = 200 // bytes
)

// SmallCount is the number of visitors from which a place is named; places with fewer visitors are added up
// (contract 94).
const SmallCount = 5

// Share is the public page of an application's traffic: its link and its settings. The zero value is not published and
// shows no pages, campaigns, locations or browsers.
type Share struct {
	// ID is 24 hex digits that identify no tenant; "" while the page is not published.
	ID string `json:"id"`
	// LegacyLink says that the page is also found under the slugs of organization and application, like earlier shares.
	LegacyLink bool `json:"legacyLink"`

	Pages     bool `json:"pages"`
	Campaigns bool `json:"campaigns"`
	Locations bool `json:"locations"`
	Browsers  bool `json:"browsers"`
	// PrivatePaths are never shown; a trailing * stands for any ending.
	PrivatePaths []string `json:"privatePaths"`

	PublishedAt *time.Time `json:"publishedAt"`
	UpdatedAt   *time.Time `json:"updatedAt"`
	// Revision counts the changes.
	Revision uint64 `json:"revision"`
}

// Patch holds the settings to change; nil fields are unchanged.
type Patch struct {
	Pages        *bool     `json:"pages" doc:"Show pages, entry pages and exit pages."`
	Campaigns    *bool     `json:"campaigns" doc:"Show UTM sources, mediums and campaigns."`
	Locations    *bool     `json:"locations" doc:"Show countries, regions and cities; places of fewer than 5 visitors are added up."`
	Browsers     *bool     `json:"browsers" doc:"Show browsers and operating systems beside the kinds of device."`
	PrivatePaths *[]string `json:"privatePaths" doc:"Paths that are never shown; a * at the end stands for any end. It replaces the present list."`
	LegacyLink   *bool     `json:"legacyLink" doc:"Let the page also be found under the slugs of organization and application. They name both."`
}

// PublicShare is a published page and its application.
type PublicShare struct {
	App   domain.Application
	Share Share
}

// ID encodes random bytes as a share's id.
func ID(random []byte) string { return hex.EncodeToString(random) }

// Published reports whether the page is public.
func (s *Share) Published() bool { return s.ID != "" }

// Links returns the links to the page, empty while it is not published.
func (s *Share) Links(app domain.AppRef) []string {
	switch {
	case !s.Published():
		return nil
	case s.LegacyLink:
		return []string{s.ID, app.String()}
	}
	return []string{s.ID}
}

// Publish publishes the page under a new link. Panels that the patch does not show are private, even if an earlier page
// showed them; private paths are retained. It fails with conflict if the page is already published.
func (s *Share) Publish(id string, patch Patch, now time.Time) error {
	if s.Published() {
		return domain.Errorf(domain.CodeConflict, "The page is published; change its settings or rotate its link.")
	}
	if problems := patch.Validate(); len(problems) > 0 {
		return domain.Invalid(problems...)
	}
	*s = Share{PrivatePaths: s.PrivatePaths, Revision: s.Revision}
	s.set(patch)
	s.ID, s.PublishedAt = id, &now
	s.touch(now)
	return nil
}

// Configure changes the settings, whether the page is published or not. A patch that names nothing or breaks a rule
// fails with invalid_request.
func (s *Share) Configure(patch Patch, now time.Time) error {
	if patch == (Patch{}) {
		return domain.Invalid(domain.FieldError{Field: "", Code: "empty_body", Message: "The body names nothing to change."})
	}
	if problems := patch.Validate(); len(problems) > 0 {
		return domain.Invalid(problems...)
	}
	s.set(patch)
	s.touch(now)
	return nil
}

// Rotate replaces the link. No earlier link works any more, including the one with the slugs. It fails with conflict if
// the page is not published.
func (s *Share) Rotate(id string, now time.Time) error {
	if !s.Published() {
		return domain.Errorf(domain.CodeConflict, "The page is not published.")
	}
	s.ID, s.LegacyLink = id, false
	s.touch(now)
	return nil
}

// Disable unpublishes the page; its links never work again. It fails with not_found if the page is not published.
func (s *Share) Disable(now time.Time) error {
	if !s.Published() {
		return domain.NotFound("published page")
	}
	s.ID, s.LegacyLink, s.PublishedAt = "", false, nil
	s.touch(now)
	return nil
}

func (s *Share) touch(now time.Time) {
	s.UpdatedAt = &now
	s.Revision++
}

func (s *Share) set(patch Patch) {
	for _, setting := range []struct{ to, from *bool }{
		{&s.Pages, patch.Pages},
		{&s.Campaigns, patch.Campaigns},
		{&s.Locations, patch.Locations},
		{&s.Browsers, patch.Browsers},
		{&s.LegacyLink, patch.LegacyLink},
	} {
		if setting.from != nil {
			*setting.to = *setting.from
		}
	}
	if patch.PrivatePaths != nil {
		s.PrivatePaths = slices.Compact(slices.Sorted(slices.Values(*patch.PrivatePaths)))
	}
}

// Validate returns every problem of a patch, none if it is valid.
func (p Patch) Validate() []domain.FieldError {
	if p.PrivatePaths == nil {
		return nil
	}
	var problems []domain.FieldError
	for i, path := range *p.PrivatePaths {
		star := strings.Index(path, "*")
		if !strings.HasPrefix(path, "/") || len(path) > MaxPrivatePathSize || star >= 0 && star < len(path)-1 {
			problems = append(problems, domain.FieldError{
				Field: fmt.Sprintf("privatePaths[%d]", i), Code: "invalid_path",
				Message: fmt.Sprintf("A path begins with a slash, has at most %d bytes, and a * only at its end.", MaxPrivatePathSize),
			})
		}
	}
	if len(*p.PrivatePaths) > MaxPrivatePaths {
		problems = append(problems, domain.FieldError{
			Field: "privatePaths", Code: "too_many", Message: fmt.Sprintf("A page has at most %d private paths.", MaxPrivatePaths),
		})
	}
	return problems
}

// Shows reports whether the owner makes the values of a dimension public.
func (s *Share) Shows(dimension filter.Dimension) bool {
	switch dimension {
	case filter.DimSource, filter.DimMedium, filter.DimReferrerDomain, filter.DimDevice:
		return true
	case filter.DimPath, filter.DimEntryPath, filter.DimExitPath:
		return s.Pages
	case filter.DimUTMSource, filter.DimUTMMedium, filter.DimUTMCampaign:
		return s.Campaigns
	case filter.DimCountry, filter.DimRegion, filter.DimCity:
		return s.Locations
	case filter.DimBrowser, filter.DimOS:
		return s.Browsers
	case filter.DimUTMTerm, filter.DimUTMContent, filter.DimEvent:
	}
	return false
}

// Hides reports whether a value of a public panel must be hidden: a private path, or anything that reads like an e-mail
// address or contains a secret or an id of one person.
func (s *Share) Hides(dimension filter.Dimension, value string) bool {
	isPath := dimension == filter.DimPath || dimension == filter.DimEntryPath || dimension == filter.DimExitPath
	if isPath && slices.ContainsFunc(s.PrivatePaths, func(private string) bool { return matchesPath(private, value) }) {
		return true
	}
	return domain.MaskShapes(value) != value || isPath && holdsKey(value)
}

// matchesPath reports whether a path equals the private one, or has its beginning if the private one ends in *.
func matchesPath(private, path string) bool {
	if prefix, open := strings.CutSuffix(private, "*"); open {
		return strings.HasPrefix(path, prefix)
	}
	return path == private || path == private+"/"
}

// The shortest runs of characters that count as keys of one person rather than words: hexadecimal digits, and letters
// mixed with digits.
const (
	hexKey   = 16
	mixedKey = 20
)

// holdsKey reports whether a part of a path is a UUID, a long run of hexadecimal digits, or a long run of letters mixed
// with digits.
func holdsKey(path string) bool {
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' }) {
		if domain.IsUUID(part) {
			return true
		}
		for run := range strings.FieldsFuncSeq(part, func(r rune) bool { return !isAlphanumeric(r) }) {
			digits := strings.ContainsAny(run, "0123456789")
			letters := strings.ContainsFunc(run, func(r rune) bool { return r > '9' })
			isHex := strings.Trim(run, "0123456789abcdefABCDEF") == ""
			if digits && (isHex && len(run) >= hexKey || letters && len(run) >= mixedKey) {
				return true
			}
		}
	}
	return false
}

func isAlphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
