package domain

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of names and of an application's settings.
const (
	MaxName       = 100  // characters
	MaxAppURL     = 2048 // bytes
	MaxAppOrigins = 100
	MaxKeyLabel   = 100 // characters
)

// DefaultPlatform is the platform of a new application that names none (contract 19).
const DefaultPlatform = "web"

// DefaultModules lists the modules of a new application that names none: the modules that need no external connection.
func DefaultModules() []Module {
	return []Module{ModuleAnalytics, ModulePeople, ModuleErrors, ModuleMetrics, ModuleFlags}
}

// AppSpec describes a new application. Empty fields have defaults: the slug is derived from the name, the platform is
// web, nil Modules are DefaultModules, and the time zone is UTC.
type AppSpec struct {
	Name     string
	Slug     string
	Platform string
	URL      string
	Modules  []Module
	Timezone string
}

// Validate returns every problem of the specification, none if it is valid.
func (s AppSpec) Validate() []FieldError {
	problems := ValidateName(s.Name)
	if s.Slug != "" && !ValidSlug(s.Slug) {
		problems = append(problems, FieldError{
			Field: "slug", Code: "invalid_slug",
			Message: "A slug is up to 48 lower-case letters, digits and single inner hyphens, and is not reserved.",
		})
	}
	if s.Platform != "" && !slices.Contains(Platforms(), s.Platform) {
		problems = append(problems, FieldError{
			Field: "platform", Code: "unknown_value",
			Message: fmt.Sprintf("Unknown platform %q.", s.Platform), Allowed: Platforms(),
		})
	}
	if s.URL != "" && !validAppURL(s.URL) {
		problems = append(problems, FieldError{Field: "url", Code: "invalid_url", Message: "The url must be an absolute http or https address."})
	}
	if s.Modules != nil {
		problems = append(problems, validateModules(s.Modules)...)
	}
	return append(problems, validateTimezone(s.Timezone)...)
}

// ValidateName checks a display name.
func ValidateName(name string) []FieldError {
	switch trimmed := strings.TrimSpace(name); {
	case trimmed == "":
		return []FieldError{{Field: "name", Code: "required", Message: "The name must not be empty."}}
	case utf8.RuneCountInString(trimmed) > MaxName:
		return []FieldError{{Field: "name", Code: "too_long", Message: fmt.Sprintf("The name is longer than %d characters.", MaxName)}}
	}
	return nil
}

func validAppURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= MaxAppURL && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// validateModules checks that the modules exist and that ai has data to work on (contract 22).
func validateModules(modules []Module) []FieldError {
	var problems []FieldError
	for _, module := range modules {
		if !slices.Contains(Modules(), module) {
			problems = append(problems, FieldError{
				Field: "modules", Code: "unknown_value",
				Message: fmt.Sprintf("Unknown module %q.", module), Allowed: Texts(Modules()),
			})
		}
	}
	hasData := slices.ContainsFunc(modules, func(m Module) bool { return slices.Contains(dataModules(), m) })
	if slices.Contains(modules, ModuleAI) && !hasData {
		problems = append(problems, FieldError{
			Field: "modules", Code: "requires_data_module",
			Message: "The module ai needs at least one data module beside it.", Allowed: Texts(dataModules()),
		})
	}
	return problems
}

// validateTimezone accepts an IANA name; the empty name means UTC.
func validateTimezone(name string) []FieldError {
	if _, err := time.LoadLocation(name); err != nil || strings.EqualFold(name, "local") {
		return []FieldError{{
			Field: "timezone", Code: "unknown_timezone",
			Message: fmt.Sprintf("Unknown time zone %q; write an IANA name, for example Europe/Berlin.", name),
		}}
	}
	return nil
}

// orderModules returns the modules without repetition in display order.
func orderModules(modules []Module) []Module {
	return slices.DeleteFunc(Modules(), func(m Module) bool { return !slices.Contains(modules, m) })
}

// DeriveSlug returns a free slug for a name: the derived one, or the first free one of -2, -3, … after it (contract
// 23). Reserved slugs count as taken.
func DeriveSlug(name string, taken func(slug string) bool) string {
	base := Slugify(name)
	if base == "" {
		base = "app"
	}
	for slug, n := base, 2; ; n++ {
		if !ReservedSlug(slug) && !taken(slug) {
			return slug
		}
		suffix := "-" + strconv.Itoa(n)
		slug = strings.TrimRight(base[:min(len(base), slugLimit-len(suffix))], "-") + suffix
	}
}

// AppIDs holds the random identifiers of a new application.
type AppIDs struct {
	App          string
	Environments [3]string
	Numbers      [3]uint64
}

// NewApplication builds the application of a valid specification under a free slug, with its three environments and
// revision 1.
func NewApplication(spec AppSpec, slug string, org Organization, ids AppIDs, now time.Time) Application {
	modules := spec.Modules
	if modules == nil {
		modules = DefaultModules()
	}
	app := Application{
		ID: ids.App, Slug: slug, Name: strings.TrimSpace(spec.Name), Platform: spec.Platform, URL: spec.URL,
		Timezone: spec.Timezone, Modules: orderModules(modules), RetentionDays: DefaultRetentionDays,
		AllowedOrigins: originsOf(spec.URL), Organization: org, CreatedAt: now, UpdatedAt: now, Revision: 1,
	}
	if app.Platform == "" {
		app.Platform = DefaultPlatform
	}
	if app.Timezone == "" {
		app.Timezone = "UTC"
	}
	for i, env := range EnvironmentSlugs() {
		app.Environments = append(app.Environments, Environment{
			ID: ids.Environments[i], Slug: env, Name: strings.ToUpper(env[:1]) + env[1:], Number: ids.Numbers[i],
		})
	}
	return app
}

// AppPatch holds the settings to change; nil fields are unchanged.
type AppPatch struct {
	Name            *string   `json:"name" doc:"The name that people read."`
	Timezone        *string   `json:"timezone" doc:"An IANA time-zone name; days of reports begin at its midnights."`
	Modules         *[]Module `json:"modules" doc:"All modules that shall be on; it replaces the present list."`
	AllowedOrigins  *[]string `json:"allowedOrigins" doc:"Origins whose browsers may send events. * allows every origin, https://*.site.example every subdomain."`
	RequireUserHash *bool     `json:"requireUserHash" doc:"Whether identify, alias and group of public keys need a userHash."`
	RetentionDays   *int      `json:"retentionDays" doc:"Days for which events are kept."`
	PersonalFields  *[]string `json:"personalFields" doc:"Names of traits and properties that are masked without people.pii.read, in addition to the list in the documentation; at most 100."`
}

// Apply changes the application and returns the names of the settings that differ from before. If any differs, the
// revision grows by one. A patch that names nothing or breaks a rule changes nothing: Apply returns invalid_request
// with every problem.
func (a *Application) Apply(patch AppPatch, now time.Time) (changed []string, err error) {
	if patch == (AppPatch{}) {
		return nil, Invalid(FieldError{Field: "", Code: "empty_body", Message: "The body names nothing to change."})
	}
	next, problems := a.patched(patch)
	if len(problems) > 0 {
		return nil, Invalid(problems...)
	}
	for _, setting := range []struct {
		name string
		same bool
	}{
		{"name", next.Name == a.Name},
		{"timezone", next.Timezone == a.Timezone},
		{"modules", slices.Equal(next.Modules, a.Modules)},
		{"allowedOrigins", slices.Equal(next.AllowedOrigins, a.AllowedOrigins)},
		{"requireUserHash", next.RequireUserHash == a.RequireUserHash},
		{"retentionDays", next.RetentionDays == a.RetentionDays},
		{"personalFields", slices.Equal(next.PersonalFields, a.PersonalFields)},
	} {
		if !setting.same {
			changed = append(changed, setting.name)
		}
	}
	if len(changed) > 0 {
		next.Revision, next.UpdatedAt = a.Revision+1, now
		*a = next
	}
	return changed, nil
}

// patched returns a copy of the application with the patch applied, and every
// problem of the patch.
func (a *Application) patched(patch AppPatch) (next Application, problems []FieldError) {
	next = *a
	if patch.Name != nil {
		next.Name = strings.TrimSpace(*patch.Name)
		problems = append(problems, ValidateName(next.Name)...)
	}
	if patch.Timezone != nil {
		next.Timezone = *patch.Timezone
		problems = append(problems, validateTimezone(next.Timezone)...)
		if next.Timezone == "" {
			next.Timezone = "UTC"
		}
	}
	if patch.Modules != nil {
		next.Modules = orderModules(*patch.Modules)
		problems = append(problems, validateModules(*patch.Modules)...)
	}
	if patch.AllowedOrigins != nil {
		var broken []FieldError
		next.AllowedOrigins, broken = NormaliseOrigins(*patch.AllowedOrigins)
		problems = append(problems, broken...)
	}
	if patch.RequireUserHash != nil {
		next.RequireUserHash = *patch.RequireUserHash
	}
	if patch.RetentionDays != nil {
		next.RetentionDays = *patch.RetentionDays
		if next.RetentionDays < 1 || next.RetentionDays > MaxRetentionDays {
			problems = append(problems, FieldError{
				Field: "retentionDays", Code: "out_of_range",
				Message: fmt.Sprintf("The retention must be 1 to %d days.", MaxRetentionDays),
			})
		}
	}
	if patch.PersonalFields != nil {
		var broken []FieldError
		next.PersonalFields, broken = normalisePersonalFields(*patch.PersonalFields)
		problems = append(problems, broken...)
	}
	return next, problems
}

// NormaliseOrigins returns the values in origin form, in order and without repetition; * is unchanged. Each value that
// is not an origin is a problem.
func NormaliseOrigins(values []string) (origins []string, problems []FieldError) {
	origins = []string{}
	for i, value := range values {
		origin, ok := NormaliseOrigin(value)
		switch {
		case !ok:
			problems = append(problems, FieldError{
				Field: fmt.Sprintf("allowedOrigins[%d]", i), Code: "invalid_origin",
				Message: fmt.Sprintf("%q is not an origin; write scheme://host or scheme://host:port, scheme://*.host for its subdomains, or *.", value),
			})
		case !slices.Contains(origins, origin):
			origins = append(origins, origin)
		}
	}
	if len(origins) > MaxAppOrigins {
		problems = append(problems, FieldError{
			Field: "allowedOrigins", Code: "too_many",
			Message: fmt.Sprintf("An application has at most %d origins.", MaxAppOrigins),
		})
	}
	return origins, problems
}

// NormaliseOrigin returns a URL's origin as browsers write it: lower-case scheme and host, no default port, no path. It
// accepts * unchanged. A host in Unicode becomes its ASCII form. A host that begins with "*." stands for the subdomains
// of the rest.
func NormaliseOrigin(value string) (string, bool) {
	value = strings.TrimSpace(value)
	if value == "*" {
		return value, true
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme == "" {
		return "", false
	}
	host, port := strings.ToLower(ASCIIHost(u.Hostname())), u.Port()
	site, wild := strings.CutPrefix(host, anyLabel)
	if !plainHost(site) || wild && !strings.Contains(strings.Trim(site, "."), ".") {
		return "", false
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return "", false
	}
	if port != "" && !(u.Scheme == "http" && port == "80") && !(u.Scheme == "https" && port == "443") {
		host += ":" + port
	}
	return u.Scheme + "://" + host, true
}

// anyLabel is the prefix of a host that stands for subdomains.
const anyLabel = "*."

// originsOf returns the allowed origins of a new application with an address.
func originsOf(address string) []string {
	origin, ok := NormaliseOrigin(address)
	if !ok || strings.Contains(origin, "*") {
		return []string{}
	}
	return []string{origin}
}

// OriginAllowed reports whether pages of an origin may send. A request without an origin does not come from a page.
func OriginAllowed(origin string, allowed []string) bool {
	if origin == "" || slices.Contains(allowed, "*") {
		return true
	}
	normal, ok := NormaliseOrigin(origin)
	if !ok || strings.Contains(normal, "*") {
		return false
	}
	return slices.ContainsFunc(allowed, func(one string) bool {
		scheme, site, wild := strings.Cut(one, anyLabel)
		host, within := strings.CutPrefix(normal, scheme)
		return one == normal || wild && within && strings.HasSuffix(host, "."+site) && len(host) > len(site)+1
	})
}

// plainHost reports whether a host consists of the characters of names and addresses.
func plainHost(host string) bool {
	for _, r := range host {
		isWord := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !isWord && !strings.ContainsRune("-._:", r) {
			return false
		}
	}
	return host != ""
}

// KeySpec describes a new ingest key.
type KeySpec struct {
	Kind        KeyKind
	Environment string
	Label       string
}

// Validate returns every problem of the specification, none if it is valid.
func (s KeySpec) Validate() []FieldError {
	var problems []FieldError
	if !slices.Contains(KeyKinds(), s.Kind) {
		problems = append(problems, FieldError{
			Field: "kind", Code: "unknown_value",
			Message: fmt.Sprintf("Unknown kind %q.", s.Kind), Allowed: Texts(KeyKinds()),
		})
	}
	if !slices.Contains(EnvironmentSlugs(), s.Environment) {
		problems = append(problems, FieldError{
			Field: "environment", Code: "unknown_value",
			Message: fmt.Sprintf("Unknown environment %q.", s.Environment), Allowed: EnvironmentSlugs(),
		})
	}
	if utf8.RuneCountInString(s.Label) > MaxKeyLabel {
		problems = append(problems, FieldError{
			Field: "label", Code: "too_long",
			Message: fmt.Sprintf("The label is longer than %d characters.", MaxKeyLabel),
		})
	}
	return problems
}
