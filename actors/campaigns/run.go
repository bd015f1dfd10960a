package campaigns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/campaign"
)

// Limits of a run.
const (
	// chunkSize is the number of recipients that are read and recorded together. maxOpenChunks bounds the open chunks;
	// a chunk stays open while one of its recipients waits for another attempt.
	chunkSize     = 500
	maxOpenChunks = 40
	// maxWorkers bounds the connections of a campaign; it uses one for every perWorker messages per second.
	maxWorkers = 16
	perWorker  = 5
	// checkEvery is the pause between two checks whether the campaign is still to be sent.
	checkEvery = time.Second
	// graceTime is the time for messages on their way when a run ends.
	graceTime = 5 * time.Second
	// maxRecipients is the largest audience.
	maxRecipients = 10_000_000
)

// run works for a sender: it takes its campaign from the snapshot of the audience to the last recipient. Everything but
// the connections and the reading of chunks happens on one goroutine.
type run struct {
	ports    *Ports
	now      func() time.Time
	ref      domain.AppRef
	id       string
	identity string
	name     string
	armed    time.Time
	nudge    chan struct{}

	campaign campaign.Mailing
	letter   Letter
	state    sendingState
	hour     sendingHour
	chunks   map[uint32]*openedChunk
	// ready holds recipients that may be tried now, retries the ones that wait.
	ready   []job
	retries []job
	pacer   pacer
	brake   brake

	jobs     chan job
	asks     chan ask
	fetched  chan fetchedChunk
	closed   chan closedChunk
	fetching bool
	// handed counts the recipients at workers; side holds the other goroutines of the run.
	handed  int
	workers sync.WaitGroup
	side    sync.WaitGroup
}

// job is an attempt for a recipient.
type job struct {
	campaign.Recipient
	attempts int
	due      time.Time
}

// errOver ends a run if its campaign is no longer sent. errBarred ends it if its application may not send at the
// moment.
var (
	errOver   = errors.New("the campaign is not being sent")
	errBarred = errors.New("the application sends no campaigns")
)

// run sends the campaign until it is over or ctx ends. A nil error means that nothing of it is due.
func (r *run) run(ctx context.Context) error {
	due, err := r.begin(ctx)
	if err == nil {
		err = r.send(ctx)
	}
	if failure := permanent(err); failure != "" {
		r.ports.Logger.Error("a campaign failed", "campaign", r.id, "error", err)
		_, err = bookFinish.Ask(ctx, r.ports.Actors, r.ref.String(), findFinish(r.id, failure))
	}
	switch {
	case errors.Is(err, errOver):
		err = nil
	case errors.Is(err, errBarred):
		due, err = r.now().Add(wakeAfter), nil
	}
	if err != nil {
		return err
	}
	_, err = senderRest.Ask(ctx, r.ports.Actors, r.identity, restSender{Armed: r.armed, Due: due})
	return err
}

func findFinish(id, problem string) finishCampaign { return finishCampaign{ID: id, Problem: problem} }

// permanentError is a failure that ends the campaign.
type permanentError struct{ reason string }

func (p *permanentError) Error() string { return "the campaign cannot be sent: " + p.reason }

// permanent returns the reason why a campaign fails for good, or "".
func permanent(err error) string {
	if failure, ok := errors.AsType[*permanentError](err); ok {
		return failure.reason
	}
	return ""
}

// begin determines whether the campaign is to be sent. If it is scheduled for later, due is the time of the next check.
func (r *run) begin(ctx context.Context) (due time.Time, err error) {
	r.campaign, err = bookBegin.Ask(ctx, r.ports.Actors, r.ref.String(), findCampaign{r.id})
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		return due, errOver
	case err != nil:
		return due, err
	case r.campaign.Status == campaign.Scheduled:
		return later(r.campaign.ScheduledAt, r.now().Add(wakeAfter)), errOver
	case r.campaign.Status != campaign.Sending:
		return due, errOver
	}
	if err := r.allowed(ctx); err != nil {
		return due, err
	}
	r.campaign.Content, err = senderRead.Ask(ctx, r.ports.Actors, r.identity, readContent{r.campaign.ContentHash})
	if err != nil {
		return due, err
	}
	if r.letter, err = r.ports.Mailer.Letter(r.ref, &r.campaign); err != nil {
		return due, &permanentError{"content_invalid"}
	}
	if _, err = tallySetup.Ask(ctx, r.ports.Actors, r.identity, tallyLinks{URLs: r.letter.Links()}); err != nil {
		return due, err
	}
	return due, r.resume(ctx)
}

// later returns the later of two instants.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// resume makes this the current run, and takes over the state of the previous one.
func (r *run) resume(ctx context.Context) error {
	from, err := senderResume.Ask(ctx, r.ports.Actors, r.identity, resumeRun{r.name})
	if err != nil {
		return err
	}
	r.state, r.hour = from.State, from.Hour
	if err := r.collect(ctx); err != nil {
		return err
	}
	for i := range from.Chunks {
		c := &from.Chunks[i]
		recipients, _, err := r.ports.Store.Recipients(ctx, &r.campaign, r.batches(), c.First, len(c.Fates))
		if err != nil {
			return err
		}
		r.open(c, recipients)
		r.close(ctx, c.First) // closes it if no recipient is left
	}
	return nil
}

// batches are the numbers of the stored pages.
func (r *run) batches() []uint64 {
	numbers := make([]uint64, len(r.state.Batches))
	for i, b := range r.state.Batches {
		numbers[i] = b.Number
	}
	return numbers
}

// collect stores the audience page by page; after a crash at most one page is repeated, under another number.
func (r *run) collect(ctx context.Context) error {
	for !r.state.Collected {
		if err := r.check(ctx); err != nil {
			return err
		}
		page, err := r.ports.Audience.Page(ctx, r.ref, &r.campaign, r.state.Cursor)
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound:
			return &permanentError{"audience_gone"}
		case err != nil:
			return fmt.Errorf("reading the audience: %w", err)
		case int(r.state.Rows)+len(page.Recipients) > maxRecipients:
			return &permanentError{"audience_too_large"}
		}
		for i := range page.Recipients {
			page.Recipients[i].Number = r.state.Rows + uint32(i)
		}
		number := uint64(len(r.state.Batches)+1)<<32 | uint64(binary.LittleEndian.Uint32(r.ports.Random.Bytes(4)))
		if err := r.ports.Store.AppendRecipients(ctx, &r.campaign, number, page.Recipients); err != nil {
			return err
		}
		r.state, err = senderCollect.Ask(ctx, r.ports.Actors, r.identity, collectPage{
			Run: r.name, Batch: batch{number, len(page.Recipients)}, Skips: page.Skips, Cursor: page.Cursor, Done: page.Done,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// check returns errOver if the campaign is no longer to be sent.
func (r *run) check(ctx context.Context) error {
	present, err := bookGet.Ask(ctx, r.ports.Actors, r.ref.String(), findCampaign{r.id})
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		return errOver
	case err != nil:
		return err
	case present.Status != campaign.Sending:
		return errOver
	}
	return r.allowed(ctx)
}

// allowed returns errBarred if the application may not send at the moment.
func (r *run) allowed(ctx context.Context) error {
	allowed, err := r.ports.Allowed(ctx, r.ref)
	if err == nil && !allowed {
		err = errBarred
	}
	return err
}

// send sends to all remaining recipients, and completes the campaign.
func (r *run) send(ctx context.Context) error {
	r.pacer = pacer{rate: r.campaign.Rate, next: r.now()}
	sending, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	for range min(maxWorkers, 1+r.campaign.Rate/perWorker) {
		r.workers.Go(func() { r.work(sending) })
	}
	err := r.loop(ctx)
	grace := time.AfterFunc(graceTime, abandon)
	defer grace.Stop()
	r.drain(sending)
	if err != nil {
		return err
	}
	_, err = bookFinish.Ask(ctx, r.ports.Actors, r.ref.String(), findFinish(r.id, ""))
	return err
}
