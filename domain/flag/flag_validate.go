package flag

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/release"
)

// KeyPattern is the syntax of a flag's key; the word new is reserved.
const KeyPattern = `^[a-z0-9_-]{1,64}$`

// CheckFlagKey returns the reason why a key cannot name a flag, or nil.
func CheckFlagKey(key string) *domain.FieldError {
	if key == "new" {
		return &domain.FieldError{Field: "key", Code: "reserved", Message: `The key "new" is reserved.`}
	}
	if !flagWord(key, 64, false) {
		return &domain.FieldError{Field: "key", Code: "invalid_value", Message: "The key must match " + KeyPattern + "."}
	}
	return nil
}

// flagWord reports whether a word consists of letters, digits, _ and -; upper also allows capitals, dots and colons.
func flagWord(word string, longest int, upper bool) bool {
	for _, r := range word {
		lower := r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-'
		if !lower && !(upper && (r >= 'A' && r <= 'Z' || r == '.' || r == ':')) {
			return false
		}
	}
	return word != "" && len(word) <= longest
}

// flagProblems collects the problems of a definition.
type flagProblems []domain.FieldError

func (p *flagProblems) add(field, code, format string, args ...any) {
	*p = append(*p, domain.FieldError{Field: field, Code: code, Message: fmt.Sprintf(format, args...)})
}

// Validate returns every problem of the definition that does not involve other flags; environments are the slugs of the
// application's environments.
func (s *Spec) Validate(environments []string) []domain.FieldError {
	problems := flagProblems(domain.ValidateName(s.Name))
	if len(s.Description) > maxFlagDescription {
		problems.add("description", "too_long", "The description is longer than %d bytes.", maxFlagDescription)
	}
	if !slices.Contains(s.Kind.Values(), s.Kind) {
		problems = append(problems, domain.FieldError{Field: "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", s.Kind), Allowed: domain.Texts(s.Kind.Values())})
		return problems // everything else depends on it
	}
	s.checkVariants(&problems)
	s.checkRules(&problems)
	s.checkSwitches(&problems, environments)
	s.checkPrerequisites(&problems)
	if _, known := bucketFieldOf(s.BucketBy); !known {
		problems = append(problems, domain.FieldError{
			Field: "bucketBy", Code: "unknown_value", Message: fmt.Sprintf("A rollout cannot count %q.", s.BucketBy), Allowed: []string{bucketByDistinctID, fieldAnonymousID, fieldCompany, traitPrefix + "<key>"},
		})
	}
	if encoded, err := json.Marshal(s); err != nil || len(encoded) > MaxFlagBytes {
		problems.add("", "too_long", "The definition is longer than %d bytes.", MaxFlagBytes)
	}
	return problems
}

func (s *Spec) checkVariants(problems *flagProblems) {
	if len(s.Variants) > MaxFlagVariants {
		problems.add("variants", "too_many", "A flag has at most %d variants.", MaxFlagVariants)
		return
	}
	seen, total := map[string]bool{}, 0
	for n, variant := range s.Variants {
		field := "variants[" + strconv.Itoa(n) + "]"
		switch {
		case s.Kind == Boolean && variant.Key != On && variant.Key != Off:
			*problems = append(*problems, domain.FieldError{Field: field + ".key", Code: "unknown_value", Message: "The variants of a boolean flag are on and off.", Allowed: []string{On, Off}})
		case !flagWord(variant.Key, 64, true):
			problems.add(field+".key", "invalid_value", "The key of a variant has letters, digits, and _ - . : alone, at most 64.")
		case seen[variant.Key]:
			problems.add(field+".key", "duplicate", "The variant %q stands here twice.", variant.Key)
		}
		seen[variant.Key] = true
		weight, ok := hundredths(variant.Weight)
		if !ok {
			problems.add(field+".weight", "out_of_range", "The weight must be a number from 0 to 100 with at most two decimals.")
		}
		total += weight
		if encoded, err := json.Marshal(variant.Value); err != nil || len(encoded) > MaxFlagValueBytes {
			problems.add(field+".value", "too_long", "The value is longer than %d bytes.", MaxFlagValueBytes)
		}
	}
	if s.Kind != Multivariate {
		return
	}
	if len(s.Variants) < 2 {
		problems.add("variants", "too_few", "A multivariate flag has at least two variants.")
		return
	}
	if total != fullWeight {
		problems.add("variants", "invalid_weights", "The weights of the variants total %s; they must total 100.", strconv.FormatFloat(float64(total)/100, 'f', -1, 64))
	}
}

// hundredths returns a percentage in hundredths, and whether it has at most two decimals.
func hundredths(percent float64) (int, bool) {
	if !(percent >= 0 && percent <= 100) {
		return 0, false
	}
	rounded := math.Round(percent * 100)
	return int(rounded), math.Abs(rounded-percent*100) < 1e-6
}

func (s *Spec) checkRules(problems *flagProblems) {
	if len(s.Rules) > MaxFlagRules {
		problems.add("rules", "too_many", "A flag has at most %d rules.", MaxFlagRules)
		return
	}
	seen, variants := map[string]bool{}, s.VariantKeys()
	served := variants
	if s.Kind == Boolean {
		served = append(slices.Clone(variants), "true", "false")
	}
	for n := range s.Rules {
		rule := &s.Rules[n]
		field := "rules[" + strconv.Itoa(n) + "]"
		switch {
		case rule.ID != "" && !flagWord(rule.ID, 64, true):
			problems.add(field+".id", "invalid_value", "The id of a rule has letters, digits, and _ - . : alone, at most 64.")
		case rule.ID != "" && seen[rule.ID]:
			problems.add(field+".id", "duplicate", "The rule %q stands here twice.", rule.ID)
		}
		seen[rule.ID] = true
		if rule.Variant != "" && !slices.Contains(served, rule.Variant) {
			*problems = append(*problems, domain.FieldError{Field: field + ".variant", Code: "unknown_variant", Message: fmt.Sprintf("The flag has no variant %q.", rule.Variant), Allowed: variants})
		}
		if rule.RolloutPercent != nil {
			checkRollout(problems, field+".rolloutPercent", *rule.RolloutPercent)
		}
		if len(rule.Conditions) > MaxFlagConditions {
			problems.add(field+".conditions", "too_many", "A rule has at most %d conditions.", MaxFlagConditions)
			continue
		}
		for m := range rule.Conditions {
			*problems = append(*problems, rule.Conditions[m].validate(field+".conditions["+strconv.Itoa(m)+"]")...)
		}
	}
}

// validate returns every problem of a condition; path names it.
func (c *Condition) validate(path string) (problems flagProblems) {
	if !knownField(c.Field) {
		problems = append(problems, domain.FieldError{
			Field: path + ".field", Code: "unknown_field", Message: fmt.Sprintf("A rule cannot look at %q.", c.Field), Allowed: append(Fields(), traitPrefix+"<key>", propertyPrefix+"<key>"),
		})
	}
	if !slices.Contains(c.Op.Values(), c.Op) {
		return append(problems, domain.FieldError{Field: path + ".op", Code: "unknown_op", Message: fmt.Sprintf("Unknown operator %q.", c.Op), Allowed: domain.Texts(c.Op.Values())})
	}
	if message := c.badValue(); message != "" {
		problems.add(path+".value", "invalid_value", "%s", message)
	}
	return problems
}

// badValue returns why the value does not suit the operator, empty if it does.
func (c *Condition) badValue() string {
	switch c.Op {
	case flagIn, flagNotIn:
		return c.badList()
	case flagExists:
		if _, isBool := c.Value.(bool); c.Value != nil && !isBool {
			return "The value must be true, false or nothing."
		}
	case flagWithinDays, flagNotWithinDays:
		if days, isNumber := c.Value.(float64); !isNumber || !(days >= 0 && days <= 36_500) {
			return "The value must be a number of days from 0 to 36500."
		}
	case flagContains, flagNotContains, flagStartsWith, flagEndsWith:
		if text, isText := c.Value.(string); !isText || text == "" || len(text) > MaxFlagTextBytes {
			return fmt.Sprintf("The value must be a text of 1 to %d bytes.", MaxFlagTextBytes)
		}
	case flagGt, flagGte, flagLt, flagLte:
		_, isNumber := c.Value.(float64)
		text, _ := c.Value.(string)
		if _, hasOrder := numberOf(text); !isNumber && !hasOrder {
			return fmt.Sprintf("The value must be a number or an ISO 8601 timestamp. To compare versions, use semver_%s.", c.Op)
		}
	case flagSemverEq, flagSemverNeq, flagSemverGt, flagSemverGte, flagSemverLt, flagSemverLte:
		if !release.IsVersion(c.Value) {
			return "The value must be " + release.AVersion + "."
		}
	case flagEq, flagNeq:
		if !plainValue(c.Value) {
			return "The value must be a text, a number, true or false."
		}
	}
	return ""
}

// badList returns why the value is not a list of values, empty if it is.
func (c *Condition) badList() string {
	list, isList := c.Value.([]any)
	if !isList || len(list) == 0 || len(list) > MaxFlagListValues || slices.ContainsFunc(list, func(v any) bool { return !plainValue(v) }) {
		return fmt.Sprintf("The value must be a list of 1 to %d texts, numbers, true or false.", MaxFlagListValues)
	}
	return ""
}

func plainValue(value any) bool {
	switch v := value.(type) {
	case string:
		return len(v) <= MaxFlagTextBytes
	case float64, bool:
		return true
	}
	return false
}

func checkRollout(problems *flagProblems, field string, percent float64) {
	if _, ok := hundredths(percent); !ok {
		problems.add(field, "out_of_range", "The rollout must be a number from 0 to 100 with at most two decimals.")
	}
}

func (s *Spec) checkSwitches(problems *flagProblems, environments []string) {
	for slug, state := range s.Environments {
		field := "environments." + slug
		if !slices.Contains(environments, slug) {
			*problems = append(*problems, domain.FieldError{Field: field, Code: "unknown_environment", Message: fmt.Sprintf("Unknown environment %q.", slug), Allowed: environments})
			continue
		}
		checkRollout(problems, field+".rolloutPercent", state.Rollout())
		for name, at := range map[string]*time.Time{"startAt": state.StartAt, "endAt": state.EndAt} {
			if at != nil && (at.Year() < 1970 || at.Year() > 9999) {
				problems.add(field+"."+name, "out_of_range", "The time must be between the years 1970 and 9999.")
			}
		}
		if state.StartAt != nil && state.EndAt != nil && !state.StartAt.Before(*state.EndAt) {
			problems.add(field+".endAt", "out_of_range", "The end must be after the start.")
		}
	}
	slices.SortStableFunc(*problems, func(a, b domain.FieldError) int { // maps have no order
		if strings.HasPrefix(a.Field, "environments.") && strings.HasPrefix(b.Field, "environments.") {
			return strings.Compare(a.Field, b.Field)
		}
		return 0
	})
}

func (s *Spec) checkPrerequisites(problems *flagProblems) {
	if len(s.Prerequisites) > MaxFlagPrerequisites {
		problems.add("prerequisites", "too_many", "A flag has at most %d prerequisites.", MaxFlagPrerequisites)
		return
	}
	for n, wanted := range s.Prerequisites {
		if slices.ContainsFunc(s.Prerequisites[:n], func(earlier Prerequisite) bool { return earlier.Flag == wanted.Flag }) {
			problems.add("prerequisites["+strconv.Itoa(n)+"].flag", "duplicate", "The flag %q stands here twice.", wanted.Flag)
		}
	}
}

// CheckPrerequisites returns the problems of a flag's definition with regard to the other flags of the application, by
// key: a prerequisite that does not exist or lacks the variant, a cycle of prerequisites, and requirements of other
// flags on this one.
func CheckPrerequisites(flags map[string]Flag, key string, spec *Spec) []domain.FieldError {
	var problems flagProblems
	for n, wanted := range spec.Prerequisites {
		field := "prerequisites[" + strconv.Itoa(n) + "]"
		other, found := flags[wanted.Flag]
		switch {
		case wanted.Flag == key:
			problems.add(field+".flag", "prerequisite_cycle", "The flag %q cannot be its own prerequisite.", key)
		case !found || other.Archived:
			problems.add(field+".flag", "unknown_flag", "There is no flag %q.", wanted.Flag)
		case !slices.Contains(other.VariantKeys(), wanted.Variant):
			problems = append(problems, domain.FieldError{Field: field + ".variant", Code: "unknown_variant", Message: fmt.Sprintf("The flag %q has no variant %q.", wanted.Flag, wanted.Variant), Allowed: other.VariantKeys()})
		default:
			if path := pathTo(flags, wanted.Flag, key, map[string]bool{}); path != nil {
				problems.add(field+".flag", "prerequisite_cycle", "The prerequisites form a circle: %s.", strings.Join(append([]string{key}, path...), " → "))
			}
		}
	}
	for _, other := range SortFlags(flags) {
		for _, wanted := range other.Prerequisites {
			if !other.Archived && wanted.Flag == key && !slices.Contains(spec.VariantKeys(), wanted.Variant) {
				problems.add("variants", "variant_in_use", "The flag %q asks for the variant %q.", other.Key, wanted.Variant)
			}
		}
	}
	return problems
}

// pathTo returns the flags from one to another along prerequisites, or nil.
func pathTo(flags map[string]Flag, from, to string, seen map[string]bool) []string {
	if from == to {
		return []string{to}
	}
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, next := range flags[from].Prerequisites {
		if rest := pathTo(flags, next.Flag, to, seen); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}
