package flag

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"sync/atomic"
)

// Reason is the reason of a flag's answer.
type Reason string

// The reasons. person_unknown says that a rule needs a field that the caller did not send and that this node does not
// know of the person yet. The answer then ignores that rule.
const (
	ByRule          Reason = "rule"
	ByRollout       Reason = "rollout"
	ByDefault       Reason = "default"
	IsDisabled      Reason = "disabled"
	IsArchived      Reason = "archived"
	PrerequisiteOff Reason = "prerequisite"
	PersonUnknown   Reason = "person_unknown"
)

// Values lists the reasons.
func (Reason) Values() []Reason {
	return []Reason{ByRule, ByRollout, ByDefault, IsDisabled, IsArchived, PrerequisiteOff, PersonUnknown}
}

// Surfaces is the number of protocols that cache their encoding of an outcome.
const Surfaces = 3

// Outcome is one of the possible answers of a flag. It is created when the flag first gives it, and cached with its
// encodings, so that an evaluation allocates nothing. A flag has some thirty outcomes, and gives few of them.
type Outcome struct {
	// The goroutine that takes the bit of a text writes the text, and then sets its bit in made.
	taken, made atomic.Uint32
	// variant and rule are indexes in the flag's lists, or -1; place is the index of the outcome.
	variant, rule int16
	place         uint16
	enabled       bool
	// texts are the encodings of protocols.
	texts [Surfaces][]byte

	flag   *CompiledFlag
	reason Reason
	// number identifies the flag and the served variant; it is the same in all versions of the flag.
	number uint64
}

// Encoded returns a protocol's cached text of the outcome, or nil.
func (o *Outcome) Encoded(surface int) []byte {
	if o.made.Load()>>surface&1 == 0 {
		return nil
	}
	return o.texts[surface]
}

// Keep caches a protocol's text of the outcome, unless one is cached.
func (o *Outcome) Keep(surface int, text []byte) {
	bit := uint32(1) << surface
	if o.taken.Or(bit)&bit == 0 {
		o.texts[surface] = text
		o.made.Or(bit)
	}
}

// Flag returns the flag of the outcome.
func (o *Outcome) Flag() *CompiledFlag { return o.flag }

// Number identifies the flag and the served variant; it is the same in all versions of the flag.
func (o *Outcome) Number() uint64 { return o.number }

// Reason returns the reason of the outcome.
func (o *Outcome) Reason() Reason { return o.reason }

// Enabled reports whether the flag is on.
func (o *Outcome) Enabled() bool { return o.enabled }

// Variant returns the key of the served variant: on or off for a boolean flag, empty for a multivariate one that is
// off.
func (o *Outcome) Variant() string {
	if o.variant >= 0 {
		return o.flag.variants[o.variant].key
	}
	if o.flag.boolean {
		return Off
	}
	return ""
}

// Rule returns the id of the deciding rule, or "".
func (o *Outcome) Rule() string {
	if o.rule < 0 {
		return ""
	}
	return o.flag.ruleIDs[o.rule]
}

// Value returns the value of the flag as JSON; null for a multivariate flag that is off.
func (o *Outcome) Value() json.RawMessage {
	if o.variant >= 0 {
		return o.flag.variants[o.variant].value
	}
	if o.flag.boolean {
		return o.flag.off
	}
	return json.RawMessage("null")
}

// Payload returns the value that the definition gives the variant, or nil.
func (o *Outcome) Payload() json.RawMessage {
	if o.variant < 0 || !o.flag.variants[o.variant].valued {
		return nil
	}
	return o.flag.variants[o.variant].value
}

// Exposed reports whether the flag gives the answer on purpose, so that it counts in the flag's results. An answer that
// skipped a rule, because the person is not known yet, does not count: the next one may differ.
func (o *Outcome) Exposed() bool {
	switch o.reason {
	case ByRule, ByRollout, ByDefault:
		return true
	case IsDisabled, IsArchived, PrerequisiteOff, PersonUnknown:
	}
	return false
}

// CompiledFlag is a flag that is ready to be evaluated; the same one serves all environments. It never changes.
type CompiledFlag struct {
	Key     string
	Version uint64

	// Fields that every evaluation reads come first and together.
	archived, boolean bool
	// sole is the index of the variant that has all of the weight, -1 if several have weight.
	sole int16
	// bucketSlot is the place of the field that a rollout uses, -1 for the distinct id.
	bucketSlot int32
	// place is the place of the flag among the flags of its application.
	place int32
	rules []compiledRule
	// conditions are the conditions of all rules, one rule after the other, as places in the names.
	conditions []int32
	needs      []Prerequisite
	// outcomes holds the outcomes given so far, by their places.
	outcomes []atomic.Pointer[Outcome]
	variants []compiledVariant

	kind    Kind
	ruleIDs []string
	off     json.RawMessage
	// offNumber identifies the flag while it serves no variant.
	offNumber uint64
	// stored are the fields of the person that a rule may read. relative says that a rule compares the age of a time.
	stored   []string
	relative bool
	// lineage is the lineage of the names that assigned the places.
	lineage *flagLineage
}

type compiledVariant struct {
	key    string
	value  json.RawMessage
	valued bool
	// below is the exclusive upper bound of this variant's places in the draw of variants.
	below int
	// number identifies the flag and the variant.
	number uint64
}

// nameNumber returns the number that identifies a flag and a variant.
func nameNumber(flag, variant string) uint64 {
	sum := sha256.Sum256([]byte(flag + "\x00" + variant))
	return binary.BigEndian.Uint64(sum[:8])
}

type compiledRule struct {
	// from and to are the range of its conditions among the conditions of the flag.
	from, to uint16
	// variant is the index of the variant that the rule serves, -1 for a draw by the weights.
	variant int16
	// rollout is -1 if the environment's rollout applies.
	rollout int16
}

// Kind returns the flag's kind.
func (f *CompiledFlag) Kind() Kind { return f.kind }

// Archived reports whether the flag is archived.
func (f *CompiledFlag) Archived() bool { return f.archived }

// CompileFlag compiles a valid, normalised flag; names must have the places of everything that it reads.
func CompileFlag(flag *Flag, names *Names) *CompiledFlag {
	f := &CompiledFlag{
		Key: flag.Key, Version: flag.Version, kind: flag.Kind, boolean: flag.Kind == Boolean, archived: flag.Archived, needs: flag.Prerequisites,
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
	f.conditions = slices.Clip(f.conditions)
	f.outcomes = make([]atomic.Pointer[Outcome], fixedOutcomes+len(generalReasons)*len(f.variants)+len(f.rules)*(len(f.variants)+1))
	return f
}

func (f *CompiledFlag) compileVariants(flag *Flag) {
	below, keys := 0, flag.VariantKeys()
	f.variants = make([]compiledVariant, 0, len(keys))
	for _, key := range keys {
		compiled := compiledVariant{key: key, value: flag.variantValue(key), number: nameNumber(flag.Key, key)}
		if n := slices.IndexFunc(flag.Variants, func(v Variant) bool { return v.Key == key }); n >= 0 {
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
	f.off, f.offNumber = flag.variantValue(Off), nameNumber(flag.Key, "")
	if f.boolean {
		f.offNumber = nameNumber(flag.Key, Off)
	}
}

func (f *CompiledFlag) compileRule(rule *Rule, names *Names) {
	compiled := compiledRule{
		from: uint16(len(f.conditions)), to: uint16(len(f.conditions) + len(rule.Conditions)), rollout: -1,
		variant: int16(slices.IndexFunc(f.variants, func(v compiledVariant) bool { return v.key == rule.Variant })),
	}
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
		f.conditions = append(f.conditions, place)
	}
	f.rules, f.ruleIDs = append(f.rules, compiled), append(f.ruleIDs, rule.ID)
}

// Places of outcomes: first the fixed ones. Then one per variant for each of the reasons default, rollout and
// person_unknown. Then, for each rule, one per variant and one for off.
const (
	outcomeArchived = iota
	outcomeDisabled
	outcomePrerequisite
	outcomeOff
	outcomeOffUnknown
	fixedOutcomes
)

// Places of the general reasons.
const byDefault, byRollout, byGuess = 0, 1, 2

//nolint:gochecknoglobals // read only
var (
	fixedReasons   = [fixedOutcomes]Reason{IsArchived, IsDisabled, PrerequisiteOff, ByRollout, PersonUnknown}
	generalReasons = [3]Reason{ByDefault, ByRollout, PersonUnknown}
)

// outcome returns the outcome at a place.
func (f *CompiledFlag) outcome(place int) *Outcome {
	kept := &f.outcomes[place]
	if known := kept.Load(); known != nil {
		return known
	}
	kept.CompareAndSwap(nil, f.makeOutcome(place))
	return kept.Load()
}

func (f *CompiledFlag) makeOutcome(place int) *Outcome {
	o, variants := &Outcome{flag: f, variant: -1, rule: -1, place: uint16(place)}, len(f.variants)
	switch general, ruled := place-fixedOutcomes, place-fixedOutcomes-len(generalReasons)*variants; {
	case general < 0:
		o.reason = fixedReasons[place]
	case ruled < 0:
		o.reason, o.variant = generalReasons[general/variants], int16(general%variants)
	default:
		o.reason, o.rule, o.variant = ByRule, int16(ruled/(variants+1)), int16(ruled%(variants+1))
		if int(o.variant) == variants {
			o.reason, o.variant = ByRollout, -1
		}
	}
	o.number = f.offNumber
	if o.variant >= 0 {
		o.number = f.variants[o.variant].number
		o.enabled = !f.boolean || f.variants[o.variant].key != Off
	}
	return o
}

// general returns the outcome of a variant without a rule; reason is the place of the reason.
func (f *CompiledFlag) general(reason, variant int) *Outcome {
	return f.outcome(fixedOutcomes + reason*len(f.variants) + variant)
}

// guess returns the outcome of a variant without a known person. A variant equal to the number of variants means no
// variant.
func (f *CompiledFlag) guess(variant int) *Outcome {
	if variant == len(f.variants) {
		return f.outcome(outcomeOffUnknown)
	}
	return f.general(byGuess, variant)
}

// ruled returns the outcome of a rule: a variant, or off if variant is the number of variants.
func (f *CompiledFlag) ruled(rule, variant int) *Outcome {
	return f.outcome(fixedOutcomes + len(generalReasons)*len(f.variants) + rule*(len(f.variants)+1) + variant)
}
