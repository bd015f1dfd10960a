package monitor

import (
	"time"

	"svc/domain"
)

// Days is the number of days of checks that a monitor shows.
const Days = 90

// Day holds the checks of one day.
type Day struct {
	Day time.Time
	// Up counts the checks after which the monitor was not down.
	Checks, Up uint64
}

// Uptime returns the share of checks after which the monitor was not down, nil without checks.
func (d *Day) Uptime() *float64 {
	if d.Checks == 0 {
		return nil
	}
	share := float64(d.Up) / float64(d.Checks)
	return &share
}

// CheckBucket holds the checks of a span of time.
type CheckBucket struct {
	T                time.Time
	Checks, Failures uint64
	// MeanMs, HighMs and HighestMs are the mean, the 95th percentile and the maximum of the durations of the checks.
	MeanMs, HighMs, HighestMs float64
}

// CheckQuery selects a page of the failed checks of a monitor, the newest first.
type CheckQuery struct {
	App      domain.AppRef
	Monitor  string
	From, To time.Time
	// Before is the time before which the page ends, zero for the first page.
	Before time.Time
	Limit  int
}

// CheckPause is the least time between two manually requested checks of a monitor.
const CheckPause = 5 * time.Second
