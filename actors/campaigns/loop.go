package campaigns

import (
	"context"
	"time"

	"svc/domain"
	"svc/domain/campaign"
)

// loop passes recipients to the workers and records their results, until no recipient is left.
func (r *run) loop(ctx context.Context) error {
	checks := time.NewTicker(checkEvery)
	defer checks.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if r.state.Next >= r.state.Rows && len(r.chunks) == 0 {
			return nil
		}
		r.fetch(ctx)
		offered, next, wait := r.next(r.now())
		timer.Reset(wait)
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case offered <- next:
			r.ready, r.handed = r.ready[1:], r.handed+1
			r.pacer.spend(r.now())
		case one := <-r.asks:
			err = r.step(ctx, one, true)
		case one := <-r.fetched:
			err = r.take(ctx, one)
		case one := <-r.closed:
			delete(r.chunks, one.first)
			err = one.err
		case <-r.nudge:
			err = r.check(ctx)
		case <-checks.C:
			err = r.check(ctx)
		case <-timer.C:
		}
		if err != nil {
			return err
		}
	}
}

// drain ends the workers and records the results of the messages on their way; no further recipient is claimed.
func (r *run) drain(ctx context.Context) {
	close(r.jobs)
	go func() {
		r.workers.Wait()
		close(r.asks)
	}()
	for one := range r.asks {
		if err := r.step(ctx, one, false); err != nil {
			r.ports.Logger.Warn("what became of messages was not noted", "campaign", r.id, "error", err)
		}
	}
	r.side.Wait()
}

// idleWait is how long the loop waits if no event is due.
const idleWait = time.Minute

// next returns the recipient that is offered to the workers, and the time to wait. The channel is nil if none may be
// offered.
func (r *run) next(now time.Time) (offered chan job, next job, wait time.Duration) {
	r.wakeRetries(now)
	wait = idleWait
	for i := range r.retries {
		wait = min(wait, r.retries[i].due.Sub(now))
	}
	if len(r.ready) == 0 {
		return nil, next, max(wait, time.Millisecond)
	}
	if held := r.held(now); held > 0 {
		return nil, next, max(min(wait, held), time.Millisecond)
	}
	return r.jobs, r.ready[0], wait
}

// held returns the time for which no recipient may be passed to a worker.
func (r *run) held(now time.Time) time.Duration {
	switch {
	case r.brake.holds(now, r.handed):
		return max(r.brake.until.Sub(now), time.Millisecond*100)
	case r.campaign.Budget > 0 && now.Sub(r.hour.Began) < time.Hour && r.hour.Count+r.handed >= r.campaign.Budget:
		return min(r.hour.Began.Add(time.Hour).Sub(now), checkEvery)
	}
	return r.pacer.wait(now)
}

// wakeRetries moves recipients that have waited long enough to the ready ones.
func (r *run) wakeRetries(now time.Time) {
	left := r.retries[:0]
	for _, one := range r.retries {
		if one.due.After(now) {
			left = append(left, one)
			continue
		}
		r.ready = append(r.ready, one)
	}
	r.retries = left
}

// step records all waiting messages of workers with one save, and answers them. If claims is false, it claims no
// recipient.
func (r *run) step(ctx context.Context, first ask, claims bool) error {
	all := []ask{first}
	for more := true; more; {
		select {
		case one, open := <-r.asks:
			if more = open; open {
				all = append(all, one)
			}
		default:
			more = false
		}
	}
	m := step{Run: r.name, Budget: r.campaign.Budget}
	for i := range all {
		switch {
		case all[i].result != nil:
			m.Results = append(m.Results, *all[i].result)
		case all[i].granted != nil && claims:
			m.Claims = append(m.Claims, all[i].job.Number)
		}
	}
	var answer stepped
	var err error
	if len(m.Results)+len(m.Claims) > 0 {
		answer, err = r.save(ctx, m)
	}
	granted := map[uint32]bool{}
	for _, number := range answer.Granted {
		granted[number] = true
	}
	if err == nil && len(m.Claims) > 0 {
		r.hour = answer.Hour
	}
	for i := range all {
		if trouble := r.note(ctx, &all[i], granted[all[i].job.Number]); err == nil {
			err = trouble
		}
	}
	return err
}

// save repeats a step until the answer is certain: a claim may be stored although its answer was lost.
func (r *run) save(ctx context.Context, m step) (stepped, error) {
	for {
		answer, err := senderStep.Ask(ctx, r.ports.Actors, r.identity, m)
		if err == nil || ctx.Err() != nil || domain.CodeOf(err) == domain.CodeConflict {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(again):
		}
	}
}

// note applies the message of one worker to the run, and answers a claim.
func (r *run) note(ctx context.Context, one *ask, granted bool) error {
	switch {
	case one.granted != nil:
		one.granted <- granted
		return nil
	case one.result != nil:
		r.handed--
		r.finish(ctx, one)
		if fate := one.result.Fate; fate == campaign.RecipientOptedOut || fate == campaign.RecipientErased {
			return nil // the mail server was not asked
		}
		return r.brakeOff(ctx)
	case one.refused != "":
		r.handed--
		return &permanentError{"sender_refused"}
	}
	r.handed--
	r.ready = append(r.ready, one.job) // it was not tried
	if one.away != "" && r.brake.fail(r.now()) {
		return r.trouble(ctx, one.away)
	}
	return nil
}

// brakeOff records that the mail server answers.
func (r *run) brakeOff(ctx context.Context) error {
	if r.brake.failures == 0 {
		return nil
	}
	r.brake = brake{}
	return r.trouble(ctx, "")
}

func (r *run) trouble(ctx context.Context, text string) error {
	_, err := senderTrouble.Ask(ctx, r.ports.Actors, r.identity, noteTrouble{r.name, text[:min(len(text), detailBytes)]})
	return err
}
