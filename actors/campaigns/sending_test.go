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

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/campaign"
)

// world is a node with one campaign; its audience and mail server are scripted.
type world struct {
	*actorstest.Host
	store     *actorstest.Store
	campaigns *Campaigns
	people    int

	mu         sync.Mutex
	recipients []campaign.Recipient     // guarded by mu, as the others
	taken      map[string][]time.Time   // the times at which the mail server took messages, by address
	asked      map[string][]time.Time   // the times at which an address was offered to it
	fates      map[uint32]campaign.Fate // by recipient
	answer     func(address string, nth int) campaign.MailVerdict
}

func (w *world) Page(context.Context, domain.AppRef, *campaign.Mailing, string) (campaign.Page, error) {
	page := campaign.Page{Done: true}
	for n := range w.people {
		page.Recipients = append(page.Recipients, campaign.Recipient{Visitor: uint64(n + 1), Address: address(n)})
	}
	return page, nil
}

func address(n int) string { return fmt.Sprintf("user%d@example.com", n) }

func (w *world) AppendRecipients(_ context.Context, _ *campaign.Mailing, _ uint64, recipients []campaign.Recipient) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recipients = append(w.recipients, recipients...)
	return nil
}

func (w *world) Recipients(_ context.Context, _ *campaign.Mailing, _ []uint64, first uint32, count int) ([]campaign.Recipient, map[uint32]bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.recipients[first : int(first)+count]), nil, nil
}

func (w *world) AppendOutcomes(_ context.Context, _ *campaign.Mailing, outcomes []campaign.Outcome) error {
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

func (w *world) AddressHash(_ domain.AppRef, address string) string { return "0" + address }

func (w *world) Letter(domain.AppRef, *campaign.Mailing) (Letter, error) { return letter{}, nil }
func (w *world) Connect(context.Context) (Connection, error)             { return &connection{world: w}, nil }

type letter struct{}

func (letter) Links() []string                       { return []string{} }
func (letter) Sender() string                        { return "news@acme.example" }
func (letter) Message(to *campaign.Recipient) []byte { return []byte(to.Address) }

// connection takes a tenth of a second for each message.
type connection struct{ *world }

func (c *connection) Offer(_ context.Context, _, to string) campaign.MailReply {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[to] = append(c.asked[to], time.Now())
	if c.answer == nil {
		return campaign.MailReply{}
	}
	return campaign.MailReply{Verdict: c.answer(to, len(c.asked[to])), Text: "450 later"}
}

func (c *connection) Send(_ context.Context, message []byte) campaign.MailReply {
	time.Sleep(100 * time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken[string(message)] = append(c.taken[string(message)], time.Now())
	return campaign.MailReply{}
}

func (c *connection) Reset(context.Context) campaign.MailReply { return campaign.MailReply{} }
func (c *connection) Close()                                   {}

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

func web() domain.AppRef { return domain.AppRef{Org: "acme", App: "web"} }

// send runs a test in a world that has begun to send an approved campaign to a number of people.
func send(t *testing.T, people int, spec campaign.Spec, answer func(address string, nth int) campaign.MailVerdict, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			store: actorstest.NewStore(), people: people, answer: answer,
			taken: map[string][]time.Time{}, asked: map[string][]time.Time{}, fates: map[uint32]campaign.Fate{},
		}
		node := &grain.Node{Store: w.store, Workers: grain.NewWorkers(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		runs := NewRuns()
		var ids int
		random := grain.Random{ID: func(prefix string) string { ids++; return fmt.Sprint(prefix, ids) }, Bytes: func(n int) []byte { return make([]byte, n) }}
		w.Host = actorstest.NewHostOf(t, func(c *cluster.Cluster) []cluster.Kind {
			return Kinds(node, &Ports{
				Actors: c, Audience: w, Store: w, Mailer: w, Hasher: w, Random: random, Runs: runs, Logger: slog.New(slog.DiscardHandler),
				Erased:  func(uint64, uint64, int64) bool { return false },
				Allowed: func(context.Context, domain.AppRef) (bool, error) { return true, nil },
			})
		})
		w.campaigns = &Campaigns{Actors: w.Cluster, Ready: func(campaign.Channel) bool { return true }, Now: time.Now}
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
func (w *world) begin(t *testing.T, spec campaign.Spec) {
	t.Helper()
	spec.Channels, spec.Content = []campaign.Channel{campaign.ChannelMail}, campaign.Content{Subject: "Hi", Text: "Hi"}
	if _, err := senderWrite.Ask(t.Context(), w.Cluster, senderIdentity(web(), "cmp_1"), spec.Content); err != nil {
		t.Fatal(err)
	}
	approved := campaign.Mailing{ID: "cmp_1", Spec: spec, ContentHash: spec.Content.Hash(), Status: campaign.Approved, Revision: 1, CreatedAt: time.Now()}
	if _, err := bookCreate.Ask(t.Context(), w.Cluster, web().String(), approved); err != nil {
		t.Fatal(err)
	}
	w.control(t, campaign.Send)
}

func (w *world) control(t *testing.T, action campaign.Action) {
	t.Helper()
	if _, err := w.campaigns.Control(t.Context(), web(), "cmp_1", action, time.Time{}, 0); err != nil {
		t.Fatal(err)
	}
}

// progress returns the campaign and its progress.
func (w *world) progress(t *testing.T) (campaign.Status, campaign.Progress) {
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
	send(t, 1200, campaign.Spec{Rate: 10}, nil, func(t *testing.T, w *world) {
		time.Sleep(30 * time.Second)
		w.control(t, campaign.Pause)
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
		if status, progress := w.progress(t); status != campaign.Paused || progress.Sent != paused || progress.Queued() != 1200-paused {
			t.Errorf("it is %s at %+v after %d messages", status, progress, paused)
		}
		w.control(t, campaign.Resume)
		time.Sleep(3 * time.Minute)
		status, progress := w.progress(t)
		if sent := w.messages(t); status != campaign.Completed || progress.Sent != 1200 || sent != 1200 || len(w.fates) != 1200 {
			t.Errorf("it is %s at %+v after %d messages", status, progress, sent)
		}
	})
}

// TestTheBudgetOfAnHourHolds sends a hundred messages with forty per hour.
func TestTheBudgetOfAnHourHolds(t *testing.T) {
	send(t, 100, campaign.Spec{Rate: 50, Budget: 40}, nil, func(t *testing.T, w *world) {
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
		if status, progress := w.progress(t); status != campaign.Completed || progress.Sent != 100 {
			t.Errorf("it is %s at %+v", status, progress)
		}
	})
}

// TestPostponedMessagesAreTriedAgain lets the mail server postpone one message once, and one every time.
func TestPostponedMessagesAreTriedAgain(t *testing.T) {
	postpone := func(to string, nth int) campaign.MailVerdict {
		if to == address(3) || to == address(5) && nth == 1 {
			return campaign.MailPostponed
		}
		return campaign.MailTaken
	}
	send(t, 10, campaign.Spec{Rate: 100}, postpone, func(t *testing.T, w *world) {
		time.Sleep(50 * time.Second)
		if sent := w.messages(t); sent != 8 {
			t.Errorf("%d messages before the retries, want 8", sent)
		}
		if status, _ := w.progress(t); status != campaign.Sending {
			t.Errorf("it is %s while two wait", status)
		}
		time.Sleep(time.Hour)
		if sent := w.messages(t); sent != 9 {
			t.Errorf("%d messages after the retries, want 9", sent)
		}
		status, progress := w.progress(t)
		if status != campaign.Completed || progress.Sent != 9 || progress.Failures.GivenUp != 1 {
			t.Errorf("it is %s at %+v", status, progress)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		asked := w.asked[address(3)]
		if len(asked) != 1+len(retryDelays()) || w.fates[3] != campaign.RecipientGivenUp {
			t.Fatalf("asked %d times for whom the server postpones, who is %c", len(asked), w.fates[3])
		}
		for n, pause := range retryDelays() {
			if got := asked[n+1].Sub(asked[n]); got < pause || got > pause+5*time.Second {
				t.Errorf("attempt %d came after %v, want %v", n+2, got, pause)
			}
		}
	})
}
