package domain_test

import (
	"testing"
	"time"

	"svc/domain"
)

func TestMeter(t *testing.T) {
	state := func(remaining int, reset time.Duration) domain.RateState {
		return domain.RateState{Class: domain.RateDefault, Quota: 3, Window: time.Minute, Remaining: remaining, Reset: reset}
	}
	var meter domain.Meter
	for i, step := range []struct {
		at    time.Duration
		state domain.RateState
		wait  time.Duration
	}{
		{0, state(2, 20*time.Second), 0},
		{0, state(1, 40*time.Second), 0},
		{0, state(0, 60*time.Second), 0},
		{0, state(0, 60*time.Second), 20 * time.Second},
		{5 * time.Second, state(0, 55*time.Second), 15 * time.Second},
		{20 * time.Second, state(0, 60*time.Second), 0},
		{21 * time.Second, state(0, 59*time.Second), 19 * time.Second},
		{10 * time.Minute, state(2, 20*time.Second), 0},
		{0, state(0, 10*time.Minute+20*time.Second), 9*time.Minute + 40*time.Second}, // The clock went back.
	} {
		got, wait := meter.Take(day().Add(step.at), domain.RateDefault, 3)
		if got != step.state || wait != step.wait {
			t.Errorf("step %d: %+v wait %s, want %+v wait %s", i, got, wait, step.state, step.wait)
		}
	}
}

func TestMeterClassesAreApart(t *testing.T) {
	var meter domain.Meter
	for _, class := range []domain.RateClass{domain.RateDefault, domain.RateQuery} {
		if _, wait := meter.Take(day(), class, 1); wait != 0 {
			t.Errorf("%s waits %s", class, wait)
		}
		if _, wait := meter.Take(day(), class, 1); wait != time.Minute {
			t.Errorf("%s waits %s", class, wait)
		}
	}
}

func TestMeterSwitchedOff(t *testing.T) {
	var meter domain.Meter
	for range 1000 {
		if state, wait := meter.Take(day(), domain.RateDefault, 0); wait != 0 || state.Quota != 0 {
			t.Fatalf("%+v waits %s", state, wait)
		}
		if _, wait := meter.Take(day(), domain.RateNone, 1); wait != 0 {
			t.Fatalf("waits %s", wait)
		}
	}
}

// TestMeterLetsItsQuotaThrough checks for any quota that a minute's worth passes at once, and the same amount again
// within the next minute.
func TestMeterLetsItsQuotaThrough(t *testing.T) {
	for _, quota := range []int{1, 7, 60, 240, 600, 999} {
		var meter domain.Meter
		passed := 0
		for range quota + 5 {
			if _, wait := meter.Take(day(), domain.RateDefault, quota); wait == 0 {
				passed++
			}
		}
		if passed != quota {
			t.Errorf("quota %d lets %d through at once", quota, passed)
		}
		passed = 0
		for ms := 1; ms <= 60_000; ms++ {
			if _, wait := meter.Take(day().Add(time.Duration(ms)*time.Millisecond), domain.RateDefault, quota); wait == 0 {
				passed++
			}
		}
		if passed < quota-1 || passed > quota {
			t.Errorf("quota %d lets %d through in the next minute", quota, passed)
		}
	}
}
