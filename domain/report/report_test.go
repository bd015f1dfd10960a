package report_test

import (
	"testing"
	"time"

	"svc/domain"
	"svc/domain/report"
)

// TestWhenReportsAreDue walks through a year, hour by hour, in zones with and without clock changes.
func TestWhenReportsAreDue(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu", "Pacific/Apia"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []report.Kind{report.Weekly, report.Monthly} {
			var last report.Period
			periods := 0
			begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for at := begin; at.Before(begin.AddDate(1, 0, 0)); at = at.Add(15 * time.Minute) {
				period, next := kind.Period(at, loc), kind.Next(at, loc)
				window, problem := domain.ParseWindow(period.Range(), at, loc)
				if problem != nil {
					t.Fatalf("%s %s: %v", zone, period.Range(), problem)
				}
				if window.To.After(at) || !next.After(at) || next.In(loc).Hour() != 8 || kind.Period(next.Add(-time.Millisecond), loc) != period || kind.Period(next, loc).From <= period.From {
					t.Fatalf("%s %s at %v: period %v, next %v", zone, kind, at, period, next)
				}
				if period == last {
					continue
				}
				if local := at.In(loc); last.From != "" && (local.Hour() != 8 || local.Minute() != 0 || kind == report.Weekly && local.Weekday() != time.Monday || kind == report.Monthly && local.Day() != 1) {
					t.Errorf("%s %s: %v is due at %v", zone, kind, period, local)
				}
				if before, problem := domain.ParseWindow(last.Range(), at, loc); last.From != "" && (problem != nil || !before.To.Equal(window.From)) {
					t.Errorf("%s %s: %v follows %v", zone, kind, period, last)
				}
				last = period
				periods++
			}
			if want := map[report.Kind]int{report.Weekly: 53, report.Monthly: 13}[kind]; periods != want {
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
		kind     report.Kind
		at       time.Time
		from, to string
	}{
		{report.Weekly, time.Date(2026, 11, 23, 7, 59, 59, 0, berlin), "2026-11-09", "2026-11-15"},
		{report.Weekly, time.Date(2026, 11, 23, 8, 0, 0, 0, berlin), "2026-11-16", "2026-11-22"},
		{report.Weekly, time.Date(2026, 3, 30, 8, 0, 0, 0, berlin), "2026-03-23", "2026-03-29"}, // contains a clock change
		{report.Monthly, time.Date(2026, 3, 1, 7, 59, 0, 0, berlin), "2026-01-01", "2026-01-31"},
		{report.Monthly, time.Date(2026, 3, 1, 8, 0, 0, 0, berlin), "2026-02-01", "2026-02-28"},
		{report.Monthly, time.Date(2028, 3, 31, 23, 0, 0, 0, berlin), "2028-02-01", "2028-02-29"},
		{report.Monthly, time.Date(2027, 1, 15, 12, 0, 0, 0, berlin), "2026-12-01", "2026-12-31"},
	} {
		if got := c.kind.Period(c.at, berlin); got != (report.Period{From: c.from, To: c.to}) {
			t.Errorf("%s at %v: %v, want %s to %s", c.kind, c.at, got, c.from, c.to)
		}
	}
}

func TestReportSpecsAreChecked(t *testing.T) {
	t.Parallel()
	good := report.Spec{Kind: report.ReportSpike, Recipients: []string{"a@b.example"}, Threshold: 10}
	for name, change := range map[string]func(*report.Spec){
		"kind":            func(s *report.Spec) { s.Kind, s.Threshold = "daily", 0 },
		"threshold":       func(s *report.Spec) { s.Threshold = 0 },
		"threshold ":      func(s *report.Spec) { s.Kind = report.Weekly },
		"threshold  ":     func(s *report.Spec) { s.Threshold = report.MaxSpikeThreshold + 1 },
		"recipients":      func(s *report.Spec) { s.Recipients = nil },
		"recipients[0]":   func(s *report.Spec) { s.Recipients = []string{"Ada <a@b.example>"} },
		"recipients[0]  ": func(s *report.Spec) { s.Recipients = []string{"a@b.example\r\nBcc: c@d.example"} },
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
