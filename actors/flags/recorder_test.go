package flags

import (
	"reflect"
	"testing"
	"time"

	"svc/domain/flag"
)

// TestARecorderKeepsNoExposureOfAnUnknownPerson evaluates an experiment on a stored trait, before the person is known
// and again afterwards.
func TestARecorderKeepsNoExposureOfAnUnknownPerson(t *testing.T) {
	flags := []flag.Flag{{Key: "f", Version: 1, Spec: flag.Spec{
		Name: "F", Kind: flag.Boolean, Environments: map[string]flag.Switch{"production": {Enabled: true}},
		Rules: []flag.Rule{{ID: "r", Variant: flag.Off, Conditions: []flag.Condition{{Field: "trait.plan", Op: "eq", Value: "pro"}}}},
	}}}
	var none *flag.Names
	names := none.Grown(flags)
	entry := flag.NewFlagEntry(flag.CompileFlag(&flags[0], names), flags[0].SwitchOf("production"))
	set, now := flag.NewFlagSet("production", 1, []*flag.Entry{entry}, names, nil), time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	recorder := &Recorder{}
	for _, step := range []struct {
		person *flag.Person
		want   []flag.Exposure
	}{
		{nil, nil},
		{&flag.Person{Values: map[string]flag.Value{"trait.plan": flag.TextFlagValue("pro")}}, []flag.Exposure{{Environment: 7, Flag: "f", Variant: flag.Off, Visitor: 9, At: now}}},
	} {
		var context flag.Context
		context.Reset(set, now)
		context.Identify("u", "")
		context.Know(step.person)
		if noted := recorder.Expose(7, 9, []*flag.Outcome{set.Evaluate(entry, &context)}, now); !noted || !reflect.DeepEqual(recorder.waiting, step.want) {
			t.Errorf("noted %v, the exposures are %+v, want %+v", noted, recorder.waiting, step.want)
		}
	}
}
