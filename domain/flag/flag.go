package flag

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
)

// Kind is the kind of answers of a flag.
type Kind string

// The kinds of flags. A boolean flag is on or off. A multivariate flag answers one of its variants, or nothing if it is
// off.
const (
	Boolean      Kind = "boolean"
	Multivariate Kind = "multivariate"
)

// Values lists both kinds.
func (Kind) Values() []Kind { return []Kind{Boolean, Multivariate} }

// The variants of a boolean flag.
const (
	On  = "on"
	Off = "off"
)

// Limits of flags. Together they limit a node's memory for one application to some megabytes.
const (
	MaxFlags             = 2000 // per application, including archived ones
	MaxFlagVariants      = 50
	MaxFlagRules         = 100
	MaxFlagConditions    = 20
	MaxFlagListValues    = 1000
	MaxFlagPrerequisites = 10
	MaxFlagValueBytes    = 8 << 10
	MaxFlagBytes         = 64 << 10 // of a definition as JSON
	MaxFlagTextBytes     = 500      // of a value of a condition
	maxFlagDescription   = 2000
	// fullWeight is a complete rollout, and the sum of all weights, in hundredths of a percent.
	fullWeight = 10_000
)

// Variant is one answer of a flag.
type Variant struct {
	Key string `json:"key" required:"true" doc:"The name of the variant; on or off for a boolean flag."`
	// Weight is its share of the people in percent. The weights of a multivariate flag total 100.
	Weight float64 `json:"weight" doc:"The share of people in percent; the weights of a multivariate flag total 100."`
	// Value is the flag's answer if the variant is served: any JSON value. nil means the key, or true and false for a
	// boolean flag.
	Value any `json:"value,omitempty" doc:"What the flag evaluates to: a string, a number, true or false, or any JSON; the key where it is absent."`
}

// Condition compares one property of the caller with a value.
type Condition struct {
	Field string `json:"field" required:"true" doc:"trait.<key>, property.<key>, or one of distinctId, anonymousId, company, stage, tag, segment, first_source, country, region, city, device, browser, os, locale, last_seen_at, first_seen_at, sessions, events, revenue.status."`
	Op    Op     `json:"op" required:"true"`
	Value any    `json:"value" doc:"A text, a number, true or false; for in and not_in a list of them; for exists true, false or nothing; a number of days for within_days and not_within_days; a version as a text for semver_eq, semver_neq, semver_gt, semver_gte, semver_lt and semver_lte."`
}

// Rule serves a variant to the people that meet all of its conditions. The first matching rule decides.
type Rule struct {
	ID         string      `json:"id" doc:"Names the rule in answers and results; made where it is absent."`
	Conditions []Condition `json:"conditions" doc:"All of them must hold; a rule without conditions holds for everyone."`
	// Variant is the key of the variant that the rule serves. If it is empty, the rule serves on for a boolean flag,
	// and a variant by the weights for a multivariate one.
	Variant string `json:"variant" doc:"What the rule serves; where it is absent: on, or a variant by the weights."`
	// RolloutPercent replaces the environment's rollout for matching people; nil retains it.
	RolloutPercent *float64 `json:"rolloutPercent,omitempty" doc:"The share of those who match that the rule serves, in place of the environment's rolloutPercent."`
}

// Switch is the state of a flag in one environment.
type Switch struct {
	Enabled bool `json:"enabled" doc:"Whether the flag is evaluated here; where it is not, it is off for everyone."`
	// RolloutPercent is the share of people for whom it is on; nil means 100.
	RolloutPercent *float64 `json:"rolloutPercent,omitempty" doc:"The share of people for whom the flag is on; 100 where it is absent."`
	// StartAt and EndAt limit the time in which an enabled flag is evaluated.
	StartAt *time.Time `json:"startAt,omitempty" doc:"The flag is off before this time."`
	EndAt   *time.Time `json:"endAt,omitempty" doc:"The flag is off from this time on."`
}

// Rollout returns the share of people for whom the flag is on, in percent.
func (s Switch) Rollout() float64 {
	if s.RolloutPercent == nil {
		return 100
	}
	return *s.RolloutPercent
}

// Prerequisite names a variant that another flag must answer; otherwise the flag is off.
type Prerequisite struct {
	Flag    string `json:"flag" required:"true" doc:"The key of the other flag."`
	Variant string `json:"variant" required:"true" doc:"The variant that it must serve; on or off for a boolean flag."`
}

// Spec is the definition of a flag. Members write it as a whole.
type Spec struct {
	Name          string            `json:"name" required:"true" doc:"The name that people read."`
	Description   string            `json:"description" doc:"What the flag is for."`
	Kind          Kind              `json:"kind" required:"true"`
	Variants      []Variant         `json:"variants" doc:"At least two for a multivariate flag; none are needed for a boolean one."`
	Rules         []Rule            `json:"rules" doc:"In the order in which they are tried."`
	Environments  map[string]Switch `json:"environments" doc:"The switch of each environment by its slug; one that is absent is disabled at 100 percent."`
	BucketBy      string            `json:"bucketBy" doc:"Whose share a rollout counts: distinctId, anonymousId, company or trait.<key>; the distinct id stands in where that is unknown." default:"distinctId"`
	Prerequisites []Prerequisite    `json:"prerequisites" doc:"What other flags must answer; otherwise the flag is off."`
}

// Flag is a stored flag. Its version counts the changes.
type Flag struct {
	Key string `json:"key"`
	Spec
	Archived  bool      `json:"archived"`
	Version   uint64    `json:"version"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Normalise fills in the defaults of a valid definition: nil lists, ids of rules, the key that decides about rollouts.
func (s *Spec) Normalise() {
	s.Name, s.Description = strings.TrimSpace(s.Name), strings.TrimSpace(s.Description)
	s.Variants = append([]Variant{}, s.Variants...)
	s.Rules = append([]Rule{}, s.Rules...)
	s.Prerequisites = append([]Prerequisite{}, s.Prerequisites...)
	s.BucketBy = cmp.Or(s.BucketBy, bucketByDistinctID)
	taken := map[string]bool{}
	for _, rule := range s.Rules {
		taken[rule.ID] = true
	}
	next := 1
	for n := range s.Rules {
		rule := &s.Rules[n]
		rule.Conditions = append([]Condition{}, rule.Conditions...)
		if s.Kind == Boolean {
			rule.Variant = strings.NewReplacer("true", On, "false", Off).Replace(rule.Variant)
		}
		for rule.ID == "" {
			if id := "rule-" + strconv.Itoa(next); !taken[id] {
				rule.ID = id
			}
			next++
		}
	}
	if s.Environments == nil {
		s.Environments = map[string]Switch{}
	}
}

// Texts interns texts that the definitions of an application repeat: fields, operators, variants, values.
type Texts map[string]any

// of returns the first of equal texts.
func (t Texts) of(text string) any {
	known, met := t[text]
	if !met {
		known = text
		t[text] = known
	}
	return known
}

// Share interns the texts of a definition, so that repeated ones use memory once. No other goroutine may read the
// definition yet.
func (s *Spec) Share(texts Texts) {
	share := func(text *string) { *text = texts.of(*text).(string) }
	for n := range s.Variants {
		share(&s.Variants[n].Key)
	}
	for n := range s.Rules {
		rule := &s.Rules[n]
		share(&rule.ID)
		share(&rule.Variant)
		for c := range rule.Conditions {
			condition := &rule.Conditions[c]
			share(&condition.Field)
			condition.Op = Op(texts.of(string(condition.Op)).(string))
			if text, is := condition.Value.(string); is {
				condition.Value = texts.of(text)
			}
		}
	}
}

// Reading is a flag with its counts.
type Reading struct {
	// Spark is the number of evaluations of each of the last seven days, the oldest first.
	Spark [7]uint64
	// LastEvaluatedAt is the last day of an evaluation within the last 30; zero if there was no evaluation.
	LastEvaluatedAt time.Time
	// Served are the variants that were served in these 30 days, and First the first of their days.
	Served []string
	First  time.Time
}

// StaleAfter is the time that a flag is unused, or answers the same to everyone, before it is stale.
const StaleAfter = 30 * 24 * time.Hour

// Stale returns why a flag that is not archived could be removed from the code, or "". It is unused if it was not
// evaluated for 30 days. It is settled if everyone was served one variant for 30 days.
func (r *Reading) Stale(flag *Flag, now time.Time) string {
	switch {
	case flag.Archived || now.Sub(flag.UpdatedAt) < StaleAfter:
		return ""
	case r.LastEvaluatedAt.IsZero():
		return "unused"
	case len(r.Served) == 1 && now.Sub(r.First) >= StaleAfter-24*time.Hour:
		return "settled"
	}
	return ""
}

// SwitchOf returns the state in an environment; if the definition has none, disabled at 100 percent.
func (s *Spec) SwitchOf(environment string) Switch { return s.Environments[environment] }

// VariantKeys returns the possible answers of the flag, in the order of its variants.
func (s *Spec) VariantKeys() []string {
	if s.Kind == Boolean {
		return []string{On, Off}
	}
	keys := make([]string, 0, len(s.Variants))
	for _, variant := range s.Variants {
		keys = append(keys, variant.Key)
	}
	return keys
}

// Change is one version of a flag: its author, its time, and the definition before.
type Change struct {
	Version uint64             `json:"version"`
	At      time.Time          `json:"at"`
	By      domain.LedgerActor `json:"by"`
	// Action is created, updated, archived or restored.
	Action string `json:"action"`
	// Before is nil for the first version.
	Before *Spec `json:"before"`
	After  Spec  `json:"after"`
}

// The actions of flag changes.
const (
	Created  = "created"
	Updated  = "updated"
	Archived = "archived"
	Restored = "restored"
)

// ReplaceFlag applies a valid, normalised definition to the present flag, which is nil for a new one. It returns the
// flag and the change.
func ReplaceFlag(present *Flag, key string, spec *Spec, by domain.LedgerActor, now time.Time) (Flag, Change) {
	next := Flag{Key: key, Spec: *spec, Version: 1, CreatedAt: now, UpdatedAt: now}
	change := Change{Version: 1, At: now, By: by, Action: Created, After: *spec}
	if present == nil {
		return next, change
	}
	next.Version, next.CreatedAt = present.Version+1, present.CreatedAt
	before := present.Spec
	change.Version, change.Before, change.Action = next.Version, &before, Updated
	if present.Archived {
		change.Action = Restored
	}
	return next, change
}

// ArchiveFlag ends the evaluation of a flag. It fails with conflict if the flag is already archived.
func ArchiveFlag(present *Flag, by domain.LedgerActor, now time.Time) (Flag, Change, error) {
	if present.Archived {
		return Flag{}, Change{}, domain.Errorf(domain.CodeConflict, "The flag %q is archived already.", present.Key)
	}
	next := *present
	next.Archived, next.Version, next.UpdatedAt = true, present.Version+1, now
	before := present.Spec
	return next, Change{Version: next.Version, At: now, By: by, Action: Archived, Before: &before, After: next.Spec}, nil
}

// Revision numbers the state of all flags of an application. It grows by one with every change.
func Revision(flags []Flag) (revision uint64) {
	for n := range flags {
		revision += flags[n].Version
	}
	return revision
}

// SortFlags returns flags in the order of their keys.
func SortFlags(flags map[string]Flag) []Flag {
	sorted := slices.AppendSeq(make([]Flag, 0, len(flags)), maps.Values(flags))
	slices.SortFunc(sorted, func(a, b Flag) int { return strings.Compare(a.Key, b.Key) })
	return sorted
}

// variantValue returns the JSON value of a flag that serves a variant.
func (s *Spec) variantValue(key string) json.RawMessage {
	for _, variant := range s.Variants {
		if variant.Key == key && variant.Value != nil {
			encoded, err := json.Marshal(variant.Value)
			if err == nil {
				return encoded
			}
		}
	}
	switch {
	case s.Kind == Boolean && key == On:
		return json.RawMessage("true")
	case s.Kind == Boolean:
		return json.RawMessage("false")
	}
	encoded, _ := json.Marshal(key) // keys of variants are valid text
	return encoded
}
