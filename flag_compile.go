package svc

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"sync/atomic"
)

// FlagReason says why a flag answers what it answers.
type FlagReason string

// The reasons. person_unknown says that a rule looks at what the caller did not say and this node does not know of the
// person yet; what follows is the answer without that rule.
const (
	FlagByRule          FlagReason = "rule"
	FlagByRollout       FlagReason = "rollout"
	FlagByDefault       FlagReason = "default"
	FlagIsDisabled      FlagReason = "disabled"
	FlagIsArchived      FlagReason = "archived"
	FlagPrerequisiteOff FlagReason = "prerequisite"
	FlagPersonUnknown   FlagReason = "person_unknown"
)

// Values lists the reasons.
func (FlagReason) Values() []FlagReason {
	return []FlagReason{FlagByRule, FlagByRollout, FlagByDefault, FlagIsDisabled, FlagIsArchived, FlagPrerequisiteOff, FlagPersonUnknown}
}

// FlagSurfaces is how many protocols keep their encoding of an outcome.
const FlagSurfaces = 3

// FlagOutcome is one of the answers that a flag may give. They are all made when the flag is compiled, so that an
// evaluation makes nothing.
type FlagOutcome struct {
	// encoded are the outcome's texts in each protocol; nil until the first is made, since most outcomes are never given.
	encoded atomic.Pointer[[FlagSurfaces][]byte]
	flag    *CompiledFlag
	// variant and rule are places in the flag's lists, -1 where there is none.
	variant, rule int16
	reason        reasonPlace
	enabled       bool
}

// reasonPlace is a reason in one byte, since there are some thirty outcomes to a flag.
type reasonPlace uint8

const (
	byRule reasonPlace = iota
	byRollout
	byDefault
	isDisabled
	isArchived
	prerequisiteOff
	personUnknown
)

// Encoded returns the text that a protocol has kept of the outcome, nil where it has kept none.
func (o *FlagOutcome) Encoded(surface int) []byte {
	if all := o.encoded.Load(); all != nil {
		return all[surface]
	}
	return nil
}

// Keep keeps the text of the outcome in a protocol.
func (o *FlagOutcome) Keep(surface int, text []byte) {
	for {
		known := o.encoded.Load()
		var next [FlagSurfaces][]byte
		if known != nil {
			next = *known
		}
		next[surface] = text
		if o.encoded.CompareAndSwap(known, &next) {
			return
		}
	}
}

// Flag returns the flag whose outcome it is.
func (o *FlagOutcome) Flag() *CompiledFlag { return o.flag }

// Number names the flag and the variant that is served, the same in all versions of the flag.
func (o *FlagOutcome) Number() uint64 {
	if o.variant >= 0 {
		return o.flag.variants[o.variant].number
	}
	return o.flag.offNumber
}

// Reason returns why.
func (o *FlagOutcome) Reason() FlagReason {
	switch o.reason {
	case byRule:
		return FlagByRule
	case byRollout:
		return FlagByRollout
	case byDefault:
		return FlagByDefault
	case isDisabled:
		return FlagIsDisabled
	case isArchived:
		return FlagIsArchived
	case prerequisiteOff:
		return FlagPrerequisiteOff
	case personUnknown:
	}
	return FlagPersonUnknown
}

// Enabled reports whether the flag is on.
func (o *FlagOutcome) Enabled() bool { return o.enabled }

// Variant returns the key of the variant that is served: on or off for a boolean flag, empty for a multivariate one
// that is off.
func (o *FlagOutcome) Variant() string {
	if o.variant >= 0 {
		return o.flag.variants[o.variant].key
	}
	if o.flag.boolean {
		return FlagOff
	}
	return ""
}

// Rule returns the id of the rule that decided, empty where none did.
func (o *FlagOutcome) Rule() string {
	if o.rule < 0 {
		return ""
	}
	return o.flag.ruleIDs[o.rule]
}

// Value returns what the flag evaluates to as JSON; null for a multivariate flag that is off.
func (o *FlagOutcome) Value() json.RawMessage {
	if o.variant >= 0 {
		return o.flag.variants[o.variant].value
	}
	if o.flag.boolean {
		return o.flag.off
	}
	return json.RawMessage("null")
}

// Payload returns the value that the definition gives the variant, nil where it gives none.
func (o *FlagOutcome) Payload() json.RawMessage {
	if o.variant < 0 || !o.flag.variants[o.variant].valued {
		return nil
	}
	return o.flag.variants[o.variant].value
}

// Exposed reports whether the answer is one that the flag gives on purpose, and so counts in its results.
func (o *FlagOutcome) Exposed() bool {
	switch o.reason {
	case byRule, byRollout, byDefault, personUnknown:
		return true
	case isDisabled, isArchived, prerequisiteOff:
	}
	return false
}

// CompiledFlag is a flag that is ready to be evaluated; the same one serves all environments. It never changes.
type CompiledFlag struct {
	Key     string
	Version uint64

	// What every evaluation reads stands first and together.
	archived, boolean bool
	// sole is the place of the variant that has all of the weight, -1 where the weights divide it.
	sole int16
	// bucketSlot is the place of whose share a rollout counts, -1 for the distinct id.
	bucketSlot int32
	// place is that of the flag among those of its application.
	place    int32
	rules    []compiledRule
	needs    []FlagPrerequisite
	outcomes []FlagOutcome
	variants []compiledVariant

	kind    FlagKind
	ruleIDs []string
	off     json.RawMessage
	// offNumber names the flag while it serves no variant.
	offNumber uint64
	// stored are the fields of the person that a rule may look at; relative says that one looks at how long ago something was.
	stored   []string
	relative bool
	// lineage is that of the names that gave the places.
	lineage *flagLineage
}

type compiledVariant struct {
	key    string
	value  json.RawMessage
	valued bool
	// below is the place in the draw of variants below which this one is served.
	below int
	// number names the flag and the variant.
	number uint64
}

// nameNumber names a flag and a variant.
func nameNumber(flag, variant string) uint64 {
	sum := sha256.Sum256([]byte(flag + "\x00" + variant))
	return binary.BigEndian.Uint64(sum[:8])
}

type compiledRule struct {
	// conditions are places of the names.
	conditions []int32
	// variant is the place of the variant that the rule serves, -1 for a draw by the weights.
	variant int16
	// rollout is -1 where the environment's counts.
	rollout int16
}

// Kind returns the flag's kind.
func (f *CompiledFlag) Kind() FlagKind { return f.kind }

// Archived reports whether the flag is archived.
func (f *CompiledFlag) Archived() bool { return f.archived }

// CompileFlag makes a valid, normalised flag ready; names must have the places of everything that it looks at.
func CompileFlag(flag *Flag, names *FlagNames) *CompiledFlag {
	f := &CompiledFlag{
		Key: flag.Key, Version: flag.Version, kind: flag.Kind, boolean: flag.Kind == FlagBoolean, archived: flag.Archived, needs: flag.Prerequisites,
		bucketSlot: -1, sole: -1, place: names.flags[flag.Key], lineage: names.lineage,
	}
	if field, _ := bucketFieldOf(flag.BucketBy); field != "" {
		f.bucketSlot = int32(names.index[contextName(field)])
	}
	if f.boolean {
		f.sole = 0 // on
	}
	f.compileVariants(flag)
	f.rules, f.ruleIDs = make([]compiledRule, 0, len(flag.Rules)), make([]string, 0, len(flag.Rules))
	for n := range flag.Rules {
		f.compileRule(&flag.Rules[n], names)
	}
	f.makeOutcomes()
	return f
}

func (f *CompiledFlag) compileVariants(flag *Flag) {
	below, keys := 0, flag.VariantKeys()
	f.variants = make([]compiledVariant, 0, len(keys))
	for _, key := range keys {
		compiled := compiledVariant{key: key, value: flag.variantValue(key), number: nameNumber(flag.Key, key)}
		if n := slices.IndexFunc(flag.Variants, func(v FlagVariant) bool { return v.Key == key }); n >= 0 {
			weight, _ := hundredths(flag.Variants[n].Weight)
			below += weight
			compiled.valued = flag.Variants[n].Value != nil
			if weight == fullWeight && !f.boolean {
				f.sole = int16(len(f.variants))
			}
		}
		compiled.below = below
		f.variants = append(f.variants, compiled)
	}
	f.off, f.offNumber = flag.variantValue(FlagOff), nameNumber(flag.Key, "")
	if f.boolean {
		f.offNumber = nameNumber(flag.Key, FlagOff)
	}
}

func (f *CompiledFlag) compileRule(rule *FlagRule, names *FlagNames) {
	compiled := compiledRule{rollout: -1, variant: int16(slices.IndexFunc(f.variants, func(v compiledVariant) bool { return v.key == rule.Variant }))}
	compiled.conditions = make([]int32, 0, len(rule.Conditions))
	if rule.RolloutPercent != nil {
		share, _ := hundredths(*rule.RolloutPercent)
		compiled.rollout = int16(share)
	}
	for n := range rule.Conditions {
		place := names.places[rule.Conditions[n].key()]
		condition := names.conditions[place]
		if f.relative = f.relative || condition.relative(); condition.stored != "" && !slices.Contains(f.stored, condition.stored) {
			f.stored = append(f.stored, condition.stored)
		}
		compiled.conditions = append(compiled.conditions, place)
	}
	f.rules, f.ruleIDs = append(f.rules, compiled), append(f.ruleIDs, rule.ID)
}

// Places of outcomes: the fixed ones, then for each of the reasons default, rollout and person_unknown one of each
// variant, then for each rule one of each variant and one of nothing.
const (
	outcomeArchived = iota
	outcomeDisabled
	outcomePrerequisite
	outcomeOff
	outcomeOffUnknown
	fixedOutcomes
)

func (f *CompiledFlag) makeOutcomes() {
	add := func(reason reasonPlace, variant, rule int) {
		f.outcomes = append(f.outcomes, FlagOutcome{
			flag: f, reason: reason, variant: int16(variant), rule: int16(rule),
			enabled: variant >= 0 && !(f.boolean && f.variants[variant].key == FlagOff),
		})
	}
	size := fixedOutcomes + 3*len(f.variants) + len(f.rules)*(len(f.variants)+1)
	f.outcomes = make([]FlagOutcome, 0, size)
	for _, reason := range []reasonPlace{isArchived, isDisabled, prerequisiteOff, byRollout, personUnknown} {
		add(reason, -1, -1)
	}
	for _, reason := range []reasonPlace{byDefault, byRollout, personUnknown} {
		for variant := range f.variants {
			add(reason, variant, -1)
		}
	}
	for rule := range f.rules {
		for variant := range f.variants {
			add(byRule, variant, rule)
		}
		add(byRollout, -1, rule)
	}
}

// general returns the outcome of a variant without a rule; reason counts default, rollout, person_unknown.
func (f *CompiledFlag) general(reason, variant int) *FlagOutcome {
	return &f.outcomes[fixedOutcomes+reason*len(f.variants)+variant]
}

// ruled returns the outcome of a rule: a variant, or nothing where that is the number of variants.
func (f *CompiledFlag) ruled(rule, variant int) *FlagOutcome {
	return &f.outcomes[fixedOutcomes+3*len(f.variants)+rule*(len(f.variants)+1)+variant]
}
