package flags

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"svc/domain"
	"svc/domain/flag"
	"svc/http/api"
	"svc/http/route"
)

// versionKey formats a version so that texts sort like the numbers.
func versionKey(version uint64) string { return fmt.Sprintf("%020d", version) }

// Previews evaluates flags as this node does.
type Previews interface {
	// Set returns the flags of an application in an environment; it is never nil.
	Set(ref domain.AppRef, environment string) *flag.Set
	// Known reads the profile of a person. It returns nil if the person has no profile.
	Known(ctx context.Context, environment uint64, distinctID string) *flag.Person
}

type previews struct {
	previews Previews
	flags    Flags
}

func previewRoutes(ports Ports) []route.Route {
	p := previews{ports.Previews, ports.Flags}
	return []route.Route{{
		Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/flags/{key}/preview", Operation: "flags.preview", Module: domain.ModuleFlags, Scope: domain.ScopeRead, Permission: domain.PermFlagsRead, Effect: route.Read, Rate: domain.RateDefault,
		Summary: "What a context gets of a flag, and by which rule; nothing is counted", Handler: route.Typed(p.preview),
	}}
}

type previewFlag struct {
	flagPath
	Env  api.Env `query:"env" doc:"The environment's slug."`
	Body struct {
		DistinctID  string         `json:"distinctId" required:"true" doc:"Who asks."`
		AnonymousID string         `json:"anonymousId" doc:"The id of the device."`
		Context     map[string]any `json:"context" doc:"What is known of the person, as in an evaluation."`
	} `body:"json"`
}

// Check refuses a person without an id.
func (p *previewFlag) Check(*route.Call) []domain.FieldError {
	if p.Body.DistinctID == "" {
		return []domain.FieldError{{Field: "distinctId", Code: "required", Message: "The field distinctId is required."}}
	}
	return nil
}

// ruleVerdict is the result of a rule.
type ruleVerdict struct {
	RuleID  string `json:"ruleId"`
	Verdict string `json:"verdict" enum:"matched,failed,unknown" doc:"unknown: it looks at what was not sent, and is not known of the person."`
}

// previewed is the answer of a preview.
type previewed struct {
	Key         string              `json:"key"`
	Enabled     bool                `json:"enabled"`
	Variant     *string             `json:"variant"`
	Value       route.Nullable[any] `json:"value"`
	Reason      flag.Reason         `json:"reason" open:"true"`
	RuleID      *string             `json:"ruleId"`
	Rules       []ruleVerdict       `json:"rules" doc:"How the rules were judged, up to the one that decided."`
	BucketedBy  string              `json:"bucketedBy" doc:"The id whose share of the rollout counts."`
	Bucket      float64             `json:"bucket" doc:"The place of that id in the rollout, in percent: it is on where the place is below the rollout."`
	Revision    uint64              `json:"revision"`
	Environment string              `json:"environment"`
}

// mayPreview refuses the preview of a flag if its rules, or the rules of the flags that it depends on, read data that
// is masked for the caller. Previews for one person after the other would reveal the values.
func (p previews) mayPreview(ctx context.Context, call *route.Call, key string) error {
	if call.Grant.May(domain.PermPeoplePIIRead) {
		return nil
	}
	question := domain.PersonalQuestion{Fields: call.App.Personal()}
	keys := []string{key}
	for i := 0; i < len(keys); i++ {
		flag, err := p.flags.Get(ctx, call.Ref(), keys[i])
		if err != nil {
			return err
		}
		definition, err := json.Marshal(flag.Spec)
		if err != nil {
			return fmt.Errorf("encoding a flag: %w", err)
		}
		if err := question.Body(definition); err != nil {
			return err
		}
		for _, needed := range flag.Prerequisites {
			if !slices.Contains(keys, needed.Flag) {
				keys = append(keys, needed.Flag)
			}
		}
	}
	return nil
}

func (p previews) preview(ctx context.Context, call *route.Call, in previewFlag) (previewed, error) {
	set := p.previews.Set(call.Ref(), in.Env.Slug)
	entry := set.Entry(in.Key)
	if entry == nil {
		return previewed{}, domain.NotFound("flag")
	}
	if err := p.mayPreview(ctx, call, in.Key); err != nil {
		return previewed{}, err
	}
	var who flag.Context
	who.Reset(set, call.Now)
	encoded, err := json.Marshal(in.Body.Context)
	if err != nil {
		return previewed{}, fmt.Errorf("encoding the context: %w", err)
	}
	flag.ReadObject(encoded, func(name string, value flag.Value) bool { who.Set(name, value); return true })
	who.Identify(in.Body.DistinctID, in.Body.AnonymousID)
	if set.Personal() && call.App.Has(domain.ModulePeople) {
		who.Know(p.previews.Known(ctx, in.Env.Number, in.Body.DistinctID))
	}
	outcome := set.Evaluate(entry, &who)
	answer := previewed{
		Key: in.Key, Enabled: outcome.Enabled(), Reason: outcome.Reason(), RuleID: api.OrNull(outcome.Rule()), Revision: set.Revision, Environment: in.Env.Slug,
		BucketedBy: entry.BucketID(&who), Rules: []ruleVerdict{},
	}
	if entry.Flag.Kind() == flag.Multivariate {
		answer.Variant = api.OrNull(outcome.Variant())
	}
	answer.Bucket = float64(flag.Bucket(in.Key, answer.BucketedBy)) / 100
	if err := answer.Value.UnmarshalJSON(outcome.Value()); err != nil {
		return previewed{}, fmt.Errorf("reading the value of a variant: %w", err)
	}
	for _, verdict := range set.Explain(entry, &who) {
		answer.Rules = append(answer.Rules, ruleVerdict{verdict.Rule, verdict.Verdict})
	}
	return answer, nil
}
