package svc_test

import (
	"testing"
	"time"

	"svc"
)

// TestWhenReportsAreDue walks through a year, hour by hour, in zones with and without clock changes.
func TestWhenReportsAreDue(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu", "Pacific/Apia"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []svc.ReportKind{svc.ReportWeekly, svc.ReportMonthly} {
			var last svc.ReportPeriod
			periods := 0
			begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for at := begin; at.Before(begin.AddDate(1, 0, 0)); at = at.Add(15 * time.Minute) {
				period, next := kind.Period(at, loc), kind.Next(at, loc)
				window, problem := svc.ParseWindow(period.Range(), at, loc)
				if problem != nil {
					t.Fatalf("%s %s: %v", zone, period.Range(), problem)
				}
				if window.To.After(at) || !next.After(at) || next.In(loc).Hour() != 8 || kind.Period(next.Add(-time.Millisecond), loc) != period || kind.Period(next, loc).From <= period.From {
					t.Fatalf("%s %s at %v: period %v, next %v", zone, kind, at, period, next)
				}
				if period == last {
					continue
				}
				if local := at.In(loc); last.From != "" && (local.Hour() != 8 || local.Minute() != 0 || kind == svc.ReportWeekly && local.Weekday() != time.Monday || kind == svc.ReportMonthly && local.Day() != 1) {
					t.Errorf("%s %s: %v is due at %v", zone, kind, period, local)
				}
				if before, problem := svc.ParseWindow(last.Range(), at, loc); last.From != "" && (problem != nil || !before.To.Equal(window.From)) {
					t.Errorf("%s %s: %v follows %v", zone, kind, period, last)
				}
				last = period
				periods++
			}
			if want := map[svc.ReportKind]int{svc.ReportWeekly: 53, svc.ReportMonthly: 13}[kind]; periods != want {
				t.Errorf("%s %s: %d periods in a year, want %d", zone, kind, periods, want)
			}
		}
	}
}

func TestReportPeriods(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind     svc.ReportKind
		at       time.Time
		from, to string
	}{
		{svc.ReportWeekly, time.Date(2026, 11, 23, 7, 59, 59, 0, berlin), "2026-11-09", "2026-11-15"},
		{svc.ReportWeekly, time.Date(2026, 11, 23, 8, 0, 0, 0, berlin), "2026-11-16", "2026-11-22"},
		{svc.ReportWeekly, time.Date(2026, 3, 30, 8, 0, 0, 0, berlin), "2026-03-23", "2026-03-29"}, // contains a clock change
		{svc.ReportMonthly, time.Date(2026, 3, 1, 7, 59, 0, 0, berlin), "2026-01-01", "2026-01-31"},
		{svc.ReportMonthly, time.Date(2026, 3, 1, 8, 0, 0, 0, berlin), "2026-02-01", "2026-02-28"},
		{svc.ReportMonthly, time.Date(2028, 3, 31, 23, 0, 0, 0, berlin), "2028-02-01", "2028-02-29"},
		{svc.ReportMonthly, time.Date(2027, 1, 15, 12, 0, 0, 0, berlin), "2026-12-01", "2026-12-31"},
	} {
		if got := c.kind.Period(c.at, berlin); got != (svc.ReportPeriod{From: c.from, To: c.to}) {
			t.Errorf("%s at %v: %v, want %s to %s", c.kind, c.at, got, c.from, c.to)
		}
	}
}

func TestReportSpecsAreChecked(t *testing.T) {
	t.Parallel()
	good := svc.ReportSpec{Kind: svc.ReportSpike, Recipients: []string{"a@b.example"}, Threshold: 10}
	for name, change := range map[string]func(*svc.ReportSpec){
		"kind":            func(s *svc.ReportSpec) { s.Kind, s.Threshold = "daily", 0 },
		"threshold":       func(s *svc.ReportSpec) { s.Threshold = 0 },
		"threshold ":      func(s *svc.ReportSpec) { s.Kind = svc.ReportWeekly },
		"threshold  ":     func(s *svc.ReportSpec) { s.Threshold = svc.MaxSpikeThreshold + 1 },
		"recipients":      func(s *svc.ReportSpec) { s.Recipients = nil },
		"recipients[0]":   func(s *svc.ReportSpec) { s.Recipients = []string{"Ada <a@b.example>"} },
		"recipients[0]  ": func(s *svc.ReportSpec) { s.Recipients = []string{"a@b.example\r\nBcc: c@d.example"} },
	} {
		spec := good
		change(&spec)
		if problems := spec.Validate(); len(problems) != 1 {
			t.Errorf("%s: %v", name, problems)
		}
	}
	if problems := good.Validate(); len(problems) != 0 {
		t.Errorf("a good one: %v", problems)
	}
}
