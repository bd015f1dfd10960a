package campaigns

import (
	"context"
	"slices"
	"time"

	"svc/domain/campaign"
)

// openedChunk is the state of a chunk that a run is sending.
type openedChunk struct {
	chunk
	visitors []uint64
	left     int
}

// fetchedChunk is a chunk that was read.
type fetchedChunk struct {
	chunk
	recipients []campaign.Recipient
	err        error
}

// closedChunk reports that the outcomes of a chunk are stored and summed up.
type closedChunk struct {
	first uint32
	err   error
}

// fetch starts to read the next chunk if the ready recipients run out.
func (r *run) fetch(ctx context.Context) {
	if r.fetching || len(r.ready) >= chunkSize || r.state.Next >= r.state.Rows || len(r.chunks) >= maxOpenChunks {
		return
	}
	r.fetching = true
	first, count := r.state.Next, int(min(chunkSize, r.state.Rows-r.state.Next))
	r.side.Go(func() {
		one := fetchedChunk{chunk: chunk{First: first, Fates: slices.Repeat([]byte{byte(campaign.RecipientErased)}, count)}}
		var duplicates map[uint32]bool
		one.recipients, duplicates, one.err = r.ports.Store.Recipients(ctx, &r.campaign, r.batches(), first, count)
		for i := range one.recipients {
			number := one.recipients[i].Number
			fate := campaign.RecipientQueued
			if duplicates[number] {
				fate = campaign.RecipientDuplicate
			}
			one.Fates[number-first] = byte(fate)
		}
		r.fetched <- one
	})
}

// take starts with a chunk that was read.
func (r *run) take(ctx context.Context, one fetchedChunk) error {
	r.fetching = false
	if one.err != nil {
		return one.err
	}
	if _, err := senderOpen.Ask(ctx, r.ports.Actors, r.identity, openChunk{r.name, one.chunk}); err != nil {
		return err
	}
	r.state.Next += uint32(len(one.Fates))
	r.open(&one.chunk, one.recipients)
	r.close(ctx, one.First)
	return nil
}

// open queues the remaining recipients of a chunk for attempts.
func (r *run) open(c *chunk, recipients []campaign.Recipient) {
	opened := &openedChunk{chunk: *c, visitors: make([]uint64, len(c.Fates))}
	present := make([]bool, len(c.Fates))
	for _, recipient := range recipients {
		at := recipient.Number - c.First
		opened.visitors[at], present[at] = recipient.Visitor, true
		one := job{Recipient: recipient, attempts: c.Tries[recipient.Number].Attempts, due: c.Tries[recipient.Number].Next}
		switch campaign.Fate(c.Fates[at]) {
		case campaign.RecipientQueued:
			r.ready = append(r.ready, one)
		case campaign.RecipientWaits:
			r.retries = append(r.retries, one)
		default: // it is over
		}
	}
	for at, fate := range c.Fates {
		if campaign.Fate(fate).Over() {
			continue
		}
		opened.left++
		if !present[at] { // its row was removed with the person
			r.ready = append(r.ready, job{Recipient: campaign.Recipient{Number: c.First + uint32(at)}})
		}
	}
	r.chunks[c.First] = opened
}

// finish records the result of a recipient, and closes the chunk if it was the last one.
func (r *run) finish(ctx context.Context, one *ask) {
	for first, c := range r.chunks {
		if one.job.Number < first || one.job.Number >= first+uint32(len(c.Fates)) {
			continue
		}
		c.record(int(one.job.Number-first), one.result)
		if one.result.Fate == campaign.RecipientWaits {
			one.job.attempts, one.job.due = one.result.Attempts, one.result.Next
			r.retries = append(r.retries, one.job)
			return
		}
		c.left--
		r.close(ctx, first)
		return
	}
}

// close stores the outcomes of a chunk without remaining recipients, outside the loop.
func (r *run) close(ctx context.Context, first uint32) {
	c := r.chunks[first]
	if c.left > 0 {
		return
	}
	r.side.Go(func() {
		at := r.now()
		outcomes := make([]campaign.Outcome, len(c.Fates))
		for i, fate := range c.Fates {
			number := first + uint32(i)
			outcomes[i] = campaign.Outcome{Number: number, Visitor: c.visitors[i], Fate: campaign.Fate(fate), At: at, Detail: c.Details[number]}
		}
		err := r.ports.Store.AppendOutcomes(ctx, &r.campaign, outcomes)
		if err == nil {
			_, err = senderClose.Ask(ctx, r.ports.Actors, r.identity, closeChunk{r.name, first})
		}
		r.closed <- closedChunk{first, err}
	})
}

// pacer spreads messages evenly.
type pacer struct {
	rate int
	next time.Time
}

// pacerSlack bounds the time by which a pacer may be behind: more is not caught up.
const pacerSlack = 100 * time.Millisecond

// wait returns the time until the next message.
func (p *pacer) wait(now time.Time) time.Duration { return p.next.Sub(now) }

// spend counts a message.
func (p *pacer) spend(now time.Time) {
	p.next = later(p.next, now.Add(-pacerSlack)).Add(time.Second / time.Duration(p.rate))
}

// brake holds a run back from a mail server that does not answer. It waits longer after every failure, and then one
// connection tries.
type brake struct {
	failures int
	until    time.Time
}

// longestBrake is the longest pause.
const longestBrake = 30 * time.Second

// holds reports whether no recipient may be passed to a worker; handed is the number that workers have.
func (b *brake) holds(now time.Time, handed int) bool {
	return b.failures > 0 && (handed > 0 || now.Before(b.until))
}

// fail records a failure and reports whether it is the first of its pause.
func (b *brake) fail(now time.Time) bool {
	if now.Before(b.until) {
		return false
	}
	b.failures++
	b.until = now.Add(min(time.Second<<min(b.failures-1, 10), longestBrake))
	return true
}
