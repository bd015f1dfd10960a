package domain

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Module is a part of the product that an application may switch on.
type Module string

// The modules in display order.
const (
	ModuleAnalytics      Module = "analytics"
	ModulePeople         Module = "people"
	ModuleErrors         Module = "errors"
	ModuleMetrics        Module = "metrics"
	ModuleFlags          Module = "flags"
	ModuleCommunications Module = "communications"
	ModuleRevenue        Module = "revenue"
	ModuleDestinations   Module = "destinations"
	ModuleAI             Module = "ai"
)

// Modules lists all modules in display order.
func Modules() []Module {
	return []Module{
		ModuleAnalytics, ModulePeople, ModuleErrors, ModuleMetrics, ModuleFlags,
		ModuleCommunications, ModuleRevenue, ModuleDestinations, ModuleAI,
	}
}

// Values lists the modules.
func (Module) Values() []Module { return Modules() }

// BuiltModules lists the modules for which this program has routes. An application retains the switches of other
// modules, for a version that has them, but no answer shows them.
func BuiltModules() []Module {
	return slices.DeleteFunc(Modules(), func(m Module) bool { return m == ModuleRevenue && !builtWithRevenue })
}

// dataModules are the modules with data for the assistant; ModuleAI needs one of them on (contract 22).
func dataModules() []Module {
	return []Module{ModuleAnalytics, ModulePeople, ModuleErrors, ModuleMetrics, ModuleFlags, ModuleRevenue}
}

// Platforms lists the values of Application.Platform (contract 19).
func Platforms() []string {
	return []string{"web", "ios", "android", "react-native", "flutter", "server", "desktop", "other"}
}

// Role is a member's role in an organization.
type Role string

// The roles (contract 12).
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
	RoleViewer Role = "viewer"
)

// Roles lists all roles, the one with the most permissions first.
func Roles() []Role { return []Role{RoleOwner, RoleAdmin, RoleMember, RoleViewer} }

// Values lists the roles.
func (Role) Values() []Role { return Roles() }

// User is a person that may act. Email and Name are personal data.
type User struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Name  string `json:"name"`
}

// Member is a user's seat in one organization.
type Member struct {
	User     User      `json:"user"`
	Role     Role      `json:"role"`
	JoinedAt time.Time `json:"joinedAt"`
}

// Organization owns applications. Its slug is its address and never changes.
type Organization struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// Environment is one of an application's three environments. Number identifies it in records and rows. It is chosen at
// random when the application is created, and is also the numeric id in an error SDK's DSN.
type Environment struct {
	ID     string `json:"id"`
	Slug   string `json:"slug"`
	Name   string `json:"name"`
	Number uint64 `json:"number,omitempty"`
}

// SlugsOf returns the slugs of environments.
func SlugsOf(environments []Environment) []string {
	slugs := make([]string, len(environments))
	for n := range environments {
		slugs[n] = environments[n].Slug
	}
	return slugs
}

// ingestIDs is one more than the highest ingest id: fifteen digits, which every SDK of
// Sentry reads as a number.
const ingestIDs = 1_000_000_000_000_000

// IngestID is the number that identifies the environment in a Sentry DSN. The key alone decides the environment of an
// error; the id is checked against it.
func (e Environment) IngestID() string { return strconv.FormatUint(e.Number%ingestIDs, 10) }

// EnvironmentSlugs lists the environments that every application has.
func EnvironmentSlugs() []string { return []string{"production", "staging", "development"} }

// DefaultEnvironment is the environment of a request that names none (contract 31).
const DefaultEnvironment = "production"

// AppRef addresses an application by the two slugs of its path.
type AppRef struct {
	Org string `json:"org"`
	App string `json:"app"`
}

// String returns "org/app".
func (r AppRef) String() string { return r.Org + "/" + r.App }

// Application is a customer's product that sends events.
type Application struct {
	ID             string   `json:"id"`
	Slug           string   `json:"slug"`
	Name           string   `json:"name"`
	Platform       string   `json:"platform"`
	URL            string   `json:"url"`
	Timezone       string   `json:"timezone"`
	Modules        []Module `json:"modules"`
	RetentionDays  int      `json:"retentionDays"`
	AllowedOrigins []string `json:"allowedOrigins"`
	// RequireUserHash says that items with public keys must prove their distinct id.
	RequireUserHash bool `json:"requireUserHash,omitempty"`
	// PersonalFields are names that the application treats as personal in addition to IsPersonal.
	PersonalFields []string      `json:"personalFields,omitempty"`
	Organization   Organization  `json:"organization"`
	Environments   []Environment `json:"environments"`
	// Exclusions select traffic that is dropped.
	Exclusions Exclusions `json:"exclusions,omitzero"`
	CreatedAt  time.Time  `json:"createdAt"`
	UpdatedAt  time.Time  `json:"updatedAt"`
	// Revision counts the changes; it is the entity tag of the application.
	Revision uint64 `json:"-"`
}

// Ref returns the application's address.
func (a *Application) Ref() AppRef { return AppRef{Org: a.Organization.Slug, App: a.Slug} }

// Has reports whether a module is on.
func (a *Application) Has(module Module) bool { return slices.Contains(a.Modules, module) }

// Environment returns the environment of a slug; the empty slug means the default.
func (a *Application) Environment(slug string) (Environment, bool) {
	if slug == "" {
		slug = DefaultEnvironment
	}
	for _, env := range a.Environments {
		if env.Slug == slug {
			return env, true
		}
	}
	return Environment{}, false
}

// Location returns the application's time zone.
func (a *Application) Location() *time.Location {
	if loc, err := time.LoadLocation(a.Timezone); err == nil {
		return loc
	}
	return time.UTC
}

// Limits of the retention, in days.
const (
	DefaultRetentionDays = 365
	MaxRetentionDays     = 3650
)

// slugLimit is the length of the longest slug, in bytes (contract 23).
const slugLimit = 48

// ReservedSlug reports whether a slug is reserved for paths of the service.
func ReservedSlug(slug string) bool {
	switch slug {
	case "new", "api", "docs", "s", "embed":
		return true
	}
	return false
}

// ValidSlug reports whether s is a slug: lower-case letters, digits and single inner hyphens, at most 48 bytes, not
// reserved.
func ValidSlug(s string) bool {
	return s != "" && s == Slugify(s) && !ReservedSlug(s)
}

// Slugify derives a slug from a name: lower-case, ASCII-folded, combining marks dropped, everything else a hyphen,
// trimmed, at most 48 bytes (contract 23). It may return "".
func Slugify(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if unicode.Is(unicode.Mn, r) {
			continue
		}
		folded := foldASCII(r)
		if folded == "" {
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
				b.WriteByte('-')
			}
			continue
		}
		b.WriteString(folded)
	}
	slug := b.String()
	if len(slug) > slugLimit {
		slug = slug[:slugLimit]
	}
	return strings.Trim(slug, "-")
}

// foldASCII maps a letter to its plain form, "" if it has none.
func foldASCII(r rune) string {
	switch {
	case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		return string(r)
	case r == 'ß':
		return "ss"
	case r == 'æ':
		return "ae"
	case r == 'ø':
		return "o"
	case r == 'œ':
		return "oe"
	case r == 'ł':
		return "l"
	case r == 'đ', r == 'ð':
		return "d"
	case r == 'þ':
		return "th"
	}
	if r < 0xC0 || r > 0x17F || !unicode.IsLetter(r) {
		return ""
	}
	return latinBase(r)
}

// latinBase returns the base letter of an accented Latin letter.
func latinBase(r rune) string {
	groups := []struct{ base, letters string }{
		{"a", "àáâãäåāăą"},
		{"c", "çćĉċč"},
		{"d", "ď"},
		{"e", "èéêëēĕėęě"},
		{"g", "ĝğġģ"},
		{"h", "ĥħ"},
		{"i", "ìíîïĩīĭįı"},
		{"j", "ĵ"},
		{"k", "ķ"},
		{"l", "ĺļľŀ"},
		{"n", "ñńņň"},
		{"o", "òóôõöōŏő"},
		{"r", "ŕŗř"},
		{"s", "śŝşš"},
		{"t", "ţťŧ"},
		{"u", "ùúûüũūŭůűų"},
		{"w", "ŵ"},
		{"y", "ýÿŷ"},
		{"z", "źżž"},
	}
	for _, group := range groups {
		if strings.ContainsRune(group.letters, r) {
			return group.base
		}
	}
	return ""
}

// Available lists the modules that are switched on and built in.
func (a *Application) Available() []Module {
	return slices.DeleteFunc(BuiltModules(), func(m Module) bool { return !a.Has(m) })
}
