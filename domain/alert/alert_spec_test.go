package alert_test

import (
	"reflect"
	"strings"
	"testing"

	"svc/domain/alert"
	"svc/domain/metric"
)

// TestWhatARuleMayNotSay changes a valid rule and lists the problems, as field and code.
func TestWhatARuleMayNotSay(t *testing.T) {
	t.Parallel()
	at := func(x float64) *float64 { return &x }
	labels := func(key, value string) func(*alert.Spec) {
		return func(s *alert.Spec) { s.Condition.Labels = map[string]string{key: value, "plan": "pro"} }
	}
	recovery := func(comparator string, until float64) func(*alert.Spec) {
		return func(s *alert.Spec) { s.Comparator, s.RecoveryThreshold = comparator, at(until) }
	}
	for name, test := range map[string]struct {
		change func(*alert.Spec)
		want   []string
	}{
		"nothing":                        {func(*alert.Spec) {}, nil},
		"every aggregation of a series":  {func(s *alert.Spec) { s.Condition.Agg = "p90" }, nil},
		"no such aggregation":            {func(s *alert.Spec) { s.Condition.Agg = "p42" }, []string{"condition.agg unknown_value"}},
		"a label":                        {labels("host", "a"), nil},
		"a label without a name":         {labels("", "a"), []string{"condition.labels. missing_value"}},
		"a label without a value":        {labels("host", ""), []string{"condition.labels.host missing_value"}},
		"a label that no point can have": {labels("host", strings.Repeat("x", metric.MaxLabelValue+1)), []string{"condition.labels.host too_long"}},
		"recovers lower":                 {recovery("gt", 4), nil},
		"recovers at the threshold":      {recovery("gt", 5), nil},
		"recovers higher":                {recovery("gt", 6), []string{"recoveryThreshold out_of_range"}},
		"at least, recovers higher":      {recovery("gte", 6), []string{"recoveryThreshold out_of_range"}},
		"too low, recovers higher":       {recovery("lt", 6), nil},
		"too low, recovers lower":        {recovery("lte", 4), []string{"recoveryThreshold out_of_range"}},
		"equal, recovers elsewhere":      {recovery("eq", 4), []string{"recoveryThreshold out_of_range"}},
		"of new issues it says nothing":  {func(s *alert.Spec) { s.Kind, s.RecoveryThreshold = alert.NewIssue, at(9) }, nil},
	} {
		spec := alert.DefaultAlert()
		spec.Name, spec.Kind, spec.Threshold = "Latency", alert.Metric, 5
		spec.Condition = alert.Condition{Name: "latency", Agg: "p95"}
		test.change(&spec)
		var got []string
		for _, problem := range spec.Validate() {
			got = append(got, problem.Field+" "+problem.Code)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAChannelIsToldOnce(t *testing.T) {
	t.Parallel()
	channels := []string{"chn_2", "chn_1", "chn_2"}
	spec := alert.DefaultAlert().With(alert.Patch{ChannelIDs: &channels})
	if want := []string{"chn_2", "chn_1"}; !reflect.DeepEqual(spec.ChannelIDs, want) {
		t.Errorf("%q, want %q", spec.ChannelIDs, want)
	}
}
