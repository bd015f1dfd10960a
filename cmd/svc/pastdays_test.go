package main

import (
	"errors"
	"testing"
)

// TestPastDaysAreCountedAhead checks that a server counts the past days of all environments in the time zones of their
// applications, and reports it.
func TestPastDaysAreCountedAhead(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	targets := s.node.countedTargets()
	if len(targets) != 3 {
		t.Errorf("%d environments are counted", len(targets))
	}
	for _, target := range targets {
		if target.Environment.Number == 0 || target.Location.String() != "UTC" {
			t.Errorf("counted is %+v", target)
		}
	}
	eventually(t, "a round", func() error {
		families, err := s.node.registry.Gather()
		for _, family := range families {
			if family.GetName() == "svc_past_days_rounds_total" && family.GetMetric()[0].GetCounter().GetValue() > 0 {
				return nil
			}
		}
		return errors.Join(errors.New("none has ended"), err)
	})
}
