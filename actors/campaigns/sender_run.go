package campaigns

import (
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/campaign"
)

// ours refuses the messages of a run after another one has begun.
func (s *sender) ours(run string) error {
	if run != s.state.Run {
		return &domain.Error{Code: domain.CodeConflict, Reason: "other_run", Message: "Another run sends the campaign."}
	}
	return nil
}

// onResume begins a run. A recipient that an earlier run claimed may have received the message; this is never found
// out.
func (s *sender) onResume(_ time.Time, m resumeRun) (grain.Outcome[resumed], error) {
	var writes []grain.Write
	for _, c := range s.chunks {
		changed := false
		for i, fate := range c.Fates {
			if campaign.Fate(fate) == campaign.RecipientClaimed && s.state.Run != m.Run {
				c.Fates[i], changed = byte(campaign.RecipientUncertain), true
			}
		}
		if changed {
			writes = append(writes, c.put())
		}
	}
	s.state.Run, s.state.Progress.Trouble = m.Run, ""
	answer := resumed{State: s.state, Hour: s.hour}
	for _, first := range slices.Sorted(maps.Keys(s.chunks)) {
		answer.Chunks = append(answer.Chunks, *s.chunks[first])
	}
	return grain.Answer(answer, append(writes, s.put())...), nil
}

// put stores the state.
func (s *sender) put() grain.Write { return grain.Put(kindSending, "sending", s.state) }

// onCollect records a stored page of the audience.
func (s *sender) onCollect(now time.Time, m collectPage) (grain.Outcome[sendingState], error) {
	if err := s.ours(m.Run); err != nil {
		return grain.Outcome[sendingState]{}, err
	}
	known := slices.ContainsFunc(s.state.Batches, func(b batch) bool { return b.Number == m.Batch.Number })
	if known || s.state.Collected {
		return grain.Answer(s.state), nil
	}
	s.state.Batches = append(s.state.Batches, m.Batch)
	s.state.Rows += uint32(m.Batch.Size)
	progress := &s.state.Progress
	progress.Size += m.Batch.Size + m.Skips.Sum()
	progress.Skips.NoAddress += m.Skips.NoAddress
	progress.Skips.OptedOut += m.Skips.OptedOut
	s.state.Cursor = m.Cursor
	if m.Done {
		s.state.Collected, progress.TakenAt, s.state.Cursor = true, now, ""
	}
	return grain.Answer(s.state, s.put()), nil
}

// onOpen starts the recipients of a chunk and skips some of them.
func (s *sender) onOpen(_ time.Time, m openChunk) (grain.Outcome[grain.None], error) {
	if err := s.ours(m.Run); err != nil {
		return grain.Outcome[grain.None]{}, err
	}
	if m.Chunk.First != s.state.Next {
		return grain.Answer(grain.None{}), nil // it is open already
	}
	c := m.Chunk
	s.chunks[c.First] = &c
	s.state.Next += uint32(len(c.Fates))
	return grain.Answer(grain.None{}, c.put(), s.put()), nil
}

// chunkOf returns the open chunk of a recipient and the index in it, or nil if the chunk is closed.
func (s *sender) chunkOf(number uint32) (*chunk, int) {
	for _, c := range s.chunks {
		if number >= c.First && number < c.First+uint32(len(c.Fates)) {
			return c, int(number - c.First)
		}
	}
	return nil, 0
}

// onStep records the results of recipients, and grants claims: each to one run only, and only once.
func (s *sender) onStep(now time.Time, m step) (grain.Outcome[stepped], error) {
	if err := s.ours(m.Run); err != nil {
		return grain.Outcome[stepped]{}, err
	}
	touched := map[*chunk]bool{}
	for i := range m.Results {
		if c, at := s.chunkOf(m.Results[i].Number); c != nil && c.record(at, &m.Results[i]) {
			touched[c] = true
		}
	}
	answer := stepped{Granted: []uint32{}}
	counted := s.hour
	for _, number := range m.Claims {
		c, at := s.chunkOf(number)
		if c == nil {
			continue
		}
		switch campaign.Fate(c.Fates[at]) {
		case campaign.RecipientClaimed: // by this run, which did not receive the first answer
			answer.Granted = append(answer.Granted, number)
		case campaign.RecipientQueued, campaign.RecipientWaits:
			if !s.spend(now, m.Budget) {
				continue
			}
			c.Fates[at], touched[c] = byte(campaign.RecipientClaimed), true
			answer.Granted = append(answer.Granted, number)
		default: // it is over
		}
	}
	answer.Hour = s.hour
	var writes []grain.Write
	for c := range touched {
		writes = append(writes, c.put())
	}
	if s.hour != counted {
		writes = append(writes, grain.Put(kindHour, "hour", s.hour))
	}
	return grain.Answer(answer, writes...), nil
}

// spend takes a message from the budget of the hour and reports whether there was one left.
func (s *sender) spend(now time.Time, budget int) bool {
	if budget == 0 {
		return true
	}
	if now.Sub(s.hour.Began) >= time.Hour {
		s.hour = sendingHour{Began: now}
	}
	if s.hour.Count >= budget {
		return false
	}
	s.hour.Count++
	return true
}

// record stores the result of a recipient and reports whether it is new. A final result stays, but an answer of the
// server replaces an uncertain one.
func (c *chunk) record(at int, r *result) bool {
	before := campaign.Fate(c.Fates[at])
	if before == r.Fate && r.Fate != campaign.RecipientWaits || before.Over() && (before != campaign.RecipientUncertain || r.Fate == campaign.RecipientWaits) {
		return false
	}
	c.Fates[at] = byte(r.Fate)
	delete(c.Tries, r.Number)
	if r.Fate == campaign.RecipientWaits {
		if c.Tries == nil {
			c.Tries = map[uint32]try{}
		}
		c.Tries[r.Number] = try{r.Attempts, r.Next}
	}
	if r.Detail != "" && r.Fate.Over() {
		if c.Details == nil {
			c.Details = map[uint32]string{}
		}
		c.Details[r.Number] = r.Detail[:min(len(r.Detail), detailBytes)]
	}
	return true
}

// over reports whether nothing is left to do for the recipients.
func (c *chunk) over() bool {
	return !slices.ContainsFunc(c.Fates, func(fate byte) bool { return !campaign.Fate(fate).Over() })
}

// onClose adds a chunk to the sums after its outcomes are stored.
func (s *sender) onClose(_ time.Time, m closeChunk) (grain.Outcome[grain.None], error) {
	if err := s.ours(m.Run); err != nil {
		return grain.Outcome[grain.None]{}, err
	}
	c := s.chunks[m.First]
	if c == nil || !c.over() {
		return grain.Answer(grain.None{}), nil
	}
	c.count(&s.state.Progress)
	delete(s.chunks, m.First)
	return grain.Answer(grain.None{}, grain.Delete(kindChunk, chunkID(m.First)), s.put()), nil
}

// onTrouble records the reason why nothing is sent at the moment.
func (s *sender) onTrouble(_ time.Time, m noteTrouble) (grain.Outcome[grain.None], error) {
	if err := s.ours(m.Run); err != nil || s.state.Progress.Trouble == m.Trouble {
		return grain.Answer(grain.None{}), err
	}
	s.state.Progress.Trouble = m.Trouble
	return grain.Answer(grain.None{}, s.put()), nil
}
