package flags

import (
	"reflect"
	"testing"
	"time"

	"svc"
)

// TestARecorderKeepsNoExposureOfAnUnknownPerson evaluates an experiment on a stored trait, before the person is known
// and again afterwards.
func TestARecorderKeepsNoExposureOfAnUnknownPerson(t *testing.T) {
	flags := []svc.Flag{{Key: "f", Version: 1, FlagSpec: svc.FlagSpec{
		Name: "F", Kind: svc.FlagBoolean, Environments: map[string]svc.FlagSwitch{"production": {Enabled: true}},
		Rules: []svc.FlagRule{{ID: "r", Variant: svc.FlagOff, Conditions: []svc.FlagCondition{{Field: "trait.plan", Op: "eq", Value: "pro"}}}},
	}}}
	var none *svc.FlagNames
	names := none.Grown(flags)
	entry := svc.NewFlagEntry(svc.CompileFlag(&flags[0], names), flags[0].SwitchOf("production"))
	set, now := svc.NewFlagSet("production", 1, []*svc.FlagEntry{entry}, names, nil), time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	recorder := &Recorder{}
	for _, step := range []struct {
		person *svc.FlagPerson
		want   []svc.FlagExposure
	}{
		{nil, nil},
		{&svc.FlagPerson{Values: map[string]svc.FlagValue{"trait.plan": svc.TextFlagValue("pro")}}, []svc.FlagExposure{{Environment: 7, Flag: "f", Variant: svc.FlagOff, Visitor: 9, At: now}}},
	} {
		var context svc.FlagContext
		context.Reset(set, now)
		context.Identify("u", "")
		context.Know(step.person)
		if noted := recorder.Expose(7, 9, []*svc.FlagOutcome{set.Evaluate(entry, &context)}, now); !noted || !reflect.DeepEqual(recorder.waiting, step.want) {
			t.Errorf("noted %v, the exposures are %+v, want %+v", noted, recorder.waiting, step.want)
		}
	}
}
