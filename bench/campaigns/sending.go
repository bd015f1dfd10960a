package main

import (
	"context"
	"fmt"
	"time"

	"svc/bench/harness"
)

const (
	// look is the time between two polls of a sending.
	look = 100 * time.Millisecond
	// sendTime limits a sending.
	sendTime = 20 * time.Minute
	// growthGoal limits the memory of the second half of a sending, as a multiple of the first half's.
	growthGoal = 1.25
	// inFlight is the number of recipients that may be claimed at a time: one per connection of a campaign.
	inFlight = 16
)

// stats holds the statistics of a campaign that the check reads.
type stats struct {
	Campaign struct {
		Status string `json:"status"`
	} `json:"campaign"`
	Stats struct {
		Sent, Failed, Skipped, Queued int
		Failures                      struct{ Bounced, Refused, GivenUp, Uncertain int }
	} `json:"stats"`
}

// memory is the peak memory of the server during each half of a sending.
type memory struct {
	first, second, resident int64
	// before is the memory before the sending.
	before int64
}

// note samples the server's memory.
func (m *memory) note(pid int, second bool) error {
	resident, anonymous, err := harness.ProcessRSS(pid)
	if err != nil {
		return err
	}
	m.resident = max(m.resident, resident)
	if second {
		m.second = max(m.second, anonymous)
	} else {
		m.first = max(m.first, anonymous)
	}
	return nil
}

// whole sends to all people without a fault, and measures.
func (b *bench) whole(ctx context.Context) error {
	id, err := b.approved(ctx, "Spring")
	if err != nil {
		return err
	}
	b.before = b.mail.Taken()
	var m memory
	if _, m.before, err = harness.ProcessRSS(b.server.PID()); err != nil {
		return err
	}
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	if err := b.control(ctx, id, "send"); err != nil {
		return err
	}
	err = harness.Poll(ctx, "the campaign is completed", sendTime, look, func(ctx context.Context) (bool, string) {
		_, messages := b.mail.Count()
		if err := m.note(b.server.PID(), 2*messages > b.people); err != nil {
			return false, err.Error()
		}
		return b.completed(ctx, id)
	})
	if err != nil {
		return err
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	found, err := b.check(ctx, id, 0)
	if err != nil {
		return err
	}
	row := found.row("a sending without a fault", usage.Elapsed)
	row.CPUPerEvent, row.Foreign, row.RSSBytes = float64(usage.Server.Microseconds())/float64(b.people), usage.Foreign, m.resident
	row.Extra["anonymousMiBBefore"], row.Extra["anonymousMiBFirstHalf"], row.Extra["anonymousMiBSecondHalf"] = mib(m.before), mib(m.first), mib(m.second)
	b.add(row)
	b.compare(harness.AtMost("campaigns", "growth of memory over a sending", float64(m.second)/float64(m.first), growthGoal))
	return nil
}

func mib(bytes int64) float64 { return float64(bytes >> 20) }

// completed reports whether a campaign is over.
func (b *bench) completed(ctx context.Context, id string) (bool, string) {
	var read stats
	if err := b.server.Read(ctx, "/campaigns/"+id, nil, &read); err != nil {
		return false, err.Error()
	}
	return read.Campaign.Status == "completed", fmt.Sprintf("%+v", read)
}

// killed sends to all people, and kills the server repeatedly until the sending is over.
func (b *bench) killed(ctx context.Context) error {
	id, err := b.approved(ctx, "Autumn")
	if err != nil {
		return err
	}
	b.before = b.mail.Taken()
	if err := b.control(ctx, id, "send"); err != nil {
		return err
	}
	var m memory
	began, ready, kills, done := time.Now(), time.Now(), 0, false
	for !done {
		if time.Since(ready) >= b.every {
			b.server.Kill()
			kills++
			if _, err := b.server.Open(ctx); err != nil {
				return fmt.Errorf("starting after kill %d: %w", kills, err)
			}
			ready = time.Now()
			_, messages := b.mail.Count()
			fmt.Printf("  kill %d: the mail server has %d messages\n", kills, messages-sum(b.before))
		}
		if time.Since(began) > sendTime {
			return fmt.Errorf("after %d kills and %s, the campaign is not over", kills, sendTime)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(look):
		}
		if err := m.note(b.server.PID(), false); err != nil {
			return err
		}
		done, _ = b.completed(ctx, id)
	}
	elapsed := time.Since(began)
	found, err := b.check(ctx, id, kills)
	if err != nil {
		return err
	}
	row := found.row(fmt.Sprintf("a sending with a kill every %s", b.every), elapsed)
	row.RSSBytes = m.resident
	row.Extra["kills"], row.Extra["anonymousMiB"] = float64(kills), mib(m.first)
	b.add(row)
	if kills == 0 {
		b.violate("the sending was over before the first kill")
	}
	b.compare(harness.AtMost("campaigns", "recipients who got two messages or more", float64(found.repeated), 0))
	b.compare(harness.AtMost("campaigns", "recipients without a known end", float64(found.unnamed), 0))
	b.compare(harness.AtMost("campaigns", "uncertain recipients a kill", float64(found.uncertain)/float64(max(kills, 1)), inFlight))
	return nil
}

func sum(counts map[string]int) (all int) {
	for _, count := range counts {
		all += count
	}
	return all
}
