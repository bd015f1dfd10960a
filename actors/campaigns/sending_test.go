package campaigns

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/cluster"
)

// world is a node with one campaign; its audience and mail server are scripted.
type world struct {
	*actorstest.Host
	store     *actorstest.Store
	campaigns *Campaigns
	people    int

	mu         sync.Mutex
	recipients []svc.CampaignRecipient     // guarded by mu, as the others
	taken      map[string][]time.Time      // the times at which the mail server took messages, by address
	asked      map[string][]time.Time      // the times at which an address was offered to it
	fates      map[uint32]svc.CampaignFate // by recipient
	answer     func(address string, nth int) svc.MailVerdict
}

func (w *world) Page(context.Context, svc.AppRef, *svc.Mailing, string) (svc.CampaignPage, error) {
	page := svc.CampaignPage{Done: true}
	for n := range w.people {
		page.Recipients = append(page.Recipients, svc.CampaignRecipient{Visitor: uint64(n + 1), Address: address(n)})
	}
	return page, nil
}

func address(n int) string { return fmt.Sprintf("user%d@example.com", n) }

func (w *world) AppendRecipients(_ context.Context, _ *svc.Mailing, _ uint64, recipients []svc.CampaignRecipient) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recipients = append(w.recipients, recipients...)
	return nil
}

func (w *world) Recipients(_ context.Context, _ *svc.Mailing, _ []uint64, first uint32, count int) ([]svc.CampaignRecipient, map[uint32]bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.recipients[first : int(first)+count]), nil, nil
}

func (w *world) AppendOutcomes(_ context.Context, _ *svc.Mailing, outcomes []svc.CampaignOutcome) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range outcomes {
		w.fates[one.Number] = one.Fate
	}
	return nil
}

// Due implements cluster.Wakeups with the store.
func (w *world) Due(at time.Time, yield func(cluster.Due) bool) {
	due, _ := w.store.Due(context.Background(), at, 100) // it does not fail
	for _, one := range due {
		if !yield(one) {
			return
		}
	}
}

func (w *world) AddressHash(_ svc.AppRef, address string) string { return "0" + address }

func (w *world) Letter(svc.AppRef, *svc.Mailing) (Letter, error) { return letter{}, nil }
func (w *world) Connect(context.Context) (Connection, error)     { return &connection{world: w}, nil }

type letter struct{}

func (letter) Links() []string                          { return []string{} }
func (letter) Sender() string                           { return "news@acme.example" }
func (letter) Message(to *svc.CampaignRecipient) []byte { return []byte(to.Address) }

// connection takes a tenth of a second for each message.
type connection struct{ *world }

func (c *connection) Offer(_ context.Context, _, to string) svc.MailReply {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[to] = append(c.asked[to], time.Now())
	if c.answer == nil {
		return svc.MailReply{}
	}
	return svc.MailReply{Verdict: c.answer(to, len(c.asked[to])), Text: "450 later"}
}

func (c *connection) Send(_ context.Context, message []byte) svc.MailReply {
	time.Sleep(100 * time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken[string(message)] = append(c.taken[string(message)], time.Now())
	return svc.MailReply{}
}

func (c *connection) Reset(context.Context) svc.MailReply { return svc.MailReply{} }
func (c *connection) Close()                              {}

// messages returns the number of messages that the mail server took, and fails if an address got two.
func (w *world) messages(t *testing.T) (count int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for to, times := range w.taken {
		count += len(times)
		if len(times) > 1 {
			t.Errorf("%s got %d messages", to, len(times))
		}
	}
	return count
}

func web() svc.AppRef { return svc.AppRef{Org: "acme", App: "web"} }

// send runs a test in a world that has begun to send an approved campaign to a number of people.
func send(t *testing.T, people int, spec svc.CampaignSpec, answer func(address string, nth int) svc.MailVerdict, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			store: actorstest.NewStore(), people: people, answer: answer,
			taken: map[string][]time.Time{}, asked: map[string][]time.Time{}, fates: map[uint32]svc.CampaignFate{},
		}
		node := &grain.Node{Store: w.store, Workers: grain.NewWorkers(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		runs := NewRuns()
		var ids int
		random := grain.Random{ID: func(prefix string) string { ids++; return fmt.Sprint(prefix, ids) }, Bytes: func(n int) []byte { return make([]byte, n) }}
		w.Host = actorstest.NewHostOf(t, func(c *cluster.Cluster) []cluster.Kind {
			return Kinds(node, &Ports{
				Actors: c, Audience: w, Store: w, Mailer: w, Hasher: w, Random: random, Runs: runs, Logger: slog.New(slog.DiscardHandler),
				Erased:  func(uint64, uint64, int64) bool { return false },
				Allowed: func(context.Context, svc.AppRef) (bool, error) { return true, nil },
			})
		})
		w.campaigns = &Campaigns{Actors: w.Cluster, Ready: func(svc.CampaignChannel) bool { return true }, Now: time.Now}
		running, stopRuns := context.WithCancel(context.Background())
		working, stopWorkers := context.WithCancel(context.Background())
		var runsEnded, workersEnded sync.WaitGroup
		sweeper := &cluster.Sweeper{Cluster: w.Cluster, Store: w, Every: time.Second, Logger: slog.New(slog.DiscardHandler), Now: time.Now}
		runsEnded.Go(func() { _ = sweeper.Run(running) })
		runsEnded.Go(func() { _ = runs.Run(running) })
		workersEnded.Go(func() { _ = node.Workers.Run(working) })
		w.begin(t, spec)
		test(t, w)
		stopRuns()
		runsEnded.Wait()
		w.Stop()
		stopWorkers()
		workersEnded.Wait()
		time.Sleep(time.Minute) // the library throttles dead letters, and its throttle outlives the messages to a stopped actor
	})
}

// begin starts the sending of the campaign cmp_1.
func (w *world) begin(t *testing.T, spec svc.CampaignSpec) {
	t.Helper()
	spec.Channels, spec.Content = []svc.CampaignChannel{svc.ChannelMail}, svc.CampaignContent{Subject: "Hi", Text: "Hi"}
	if _, err := senderWrite.Ask(t.Context(), w.Cluster, senderIdentity(web(), "cmp_1"), spec.Content); err != nil {
		t.Fatal(err)
	}
	approved := svc.Mailing{ID: "cmp_1", CampaignSpec: spec, ContentHash: spec.Content.Hash(), Status: svc.CampaignApproved, Revision: 1, CreatedAt: time.Now()}
	if _, err := bookCreate.Ask(t.Context(), w.Cluster, web().String(), approved); err != nil {
		t.Fatal(err)
	}
	w.control(t, svc.CampaignSend)
}

func (w *world) control(t *testing.T, action svc.CampaignAction) {
	t.Helper()
	if _, err := w.campaigns.Control(t.Context(), web(), "cmp_1", action, time.Time{}, 0); err != nil {
		t.Fatal(err)
	}
}

// progress returns the campaign and its progress.
func (w *world) progress(t *testing.T) (svc.CampaignStatus, svc.CampaignProgress) {
	t.Helper()
	campaign, err := w.campaigns.Get(t.Context(), web(), "cmp_1")
	if err != nil {
		t.Fatal(err)
	}
	progress, err := w.campaigns.progress(t.Context(), web(), "cmp_1")
	if err != nil {
		t.Fatal(err)
	}
	return campaign.Status, progress
}

// TestAPausedCampaignGoesOn pauses a campaign in the middle, unloads its actors, and resumes it: each recipient gets
// one message, and none while it is paused.
func TestAPausedCampaignGoesOn(t *testing.T) {
	send(t, 1200, svc.CampaignSpec{Rate: 10}, nil, func(t *testing.T, w *world) {
		time.Sleep(30 * time.Second)
		w.control(t, svc.CampaignPause)
		time.Sleep(graceTime)
		paused := w.messages(t)
		if paused < 250 || paused > 320 {
			t.Errorf("%d messages in half a minute, want ten a second", paused)
		}
		w.EvictAll()
		time.Sleep(time.Hour)
		if more := w.messages(t) - paused; more != 0 {
			t.Errorf("%d messages while the campaign is paused", more)
		}
		if status, progress := w.progress(t); status != svc.CampaignPaused || progress.Sent != paused || progress.Queued() != 1200-paused {
			t.Errorf("it is %s at %+v after %d messages", status, progress, paused)
		}
		w.control(t, svc.CampaignResume)
		time.Sleep(3 * time.Minute)
		status, progress := w.progress(t)
		if sent := w.messages(t); status != svc.CampaignCompleted || progress.Sent != 1200 || sent != 1200 || len(w.fates) != 1200 {
			t.Errorf("it is %s at %+v after %d messages", status, progress, sent)
		}
	})
}

// TestTheBudgetOfAnHourHolds sends a hundred messages with forty per hour.
func TestTheBudgetOfAnHourHolds(t *testing.T) {
	send(t, 100, svc.CampaignSpec{Rate: 50, Budget: 40}, nil, func(t *testing.T, w *world) {
		for hour, want := range []int{40, 80, 100} {
			time.Sleep(time.Minute)
			if sent := w.messages(t); sent != want {
				t.Errorf("%d messages at the beginning of hour %d, want %d", sent, hour, want)
			}
			time.Sleep(58 * time.Minute)
			if sent := w.messages(t); sent != want {
				t.Errorf("%d messages at the end of hour %d, want %d", sent, hour, want)
			}
			time.Sleep(time.Minute)
		}
		if status, progress := w.progress(t); status != svc.CampaignCompleted || progress.Sent != 100 {
			t.Errorf("it is %s at %+v", status, progress)
		}
	})
}

// TestPostponedMessagesAreTriedAgain lets the mail server postpone one message once, and one every time.
func TestPostponedMessagesAreTriedAgain(t *testing.T) {
	postpone := func(to string, nth int) svc.MailVerdict {
		if to == address(3) || to == address(5) && nth == 1 {
			return svc.MailPostponed
		}
		return svc.MailTaken
	}
	send(t, 10, svc.CampaignSpec{Rate: 100}, postpone, func(t *testing.T, w *world) {
		time.Sleep(50 * time.Second)
		if sent := w.messages(t); sent != 8 {
			t.Errorf("%d messages before the retries, want 8", sent)
		}
		if status, _ := w.progress(t); status != svc.CampaignSending {
			t.Errorf("it is %s while two wait", status)
		}
		time.Sleep(time.Hour)
		if sent := w.messages(t); sent != 9 {
			t.Errorf("%d messages after the retries, want 9", sent)
		}
		status, progress := w.progress(t)
		if status != svc.CampaignCompleted || progress.Sent != 9 || progress.Failures.GivenUp != 1 {
			t.Errorf("it is %s at %+v", status, progress)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		asked := w.asked[address(3)]
		if len(asked) != 1+len(retryDelays()) || w.fates[3] != svc.RecipientGivenUp {
			t.Fatalf("asked %d times for whom the server postpones, who is %c", len(asked), w.fates[3])
		}
		for n, pause := range retryDelays() {
			if got := asked[n+1].Sub(asked[n]); got < pause || got > pause+5*time.Second {
				t.Errorf("attempt %d came after %v, want %v", n+2, got, pause)
			}
		}
	})
}
