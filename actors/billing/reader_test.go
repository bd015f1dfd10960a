package billing

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/destination"
	"svc/domain/revenue"
)

var web = domain.AppRef{Org: "acme", App: "web"}

// desk is a node with a scripted provider, a log and a vault that does not encrypt.
type desk struct {
	*actorstest.Host
	store      *actorstest.Store
	ports      *Ports
	connectors *Connectors

	mu     sync.Mutex
	steps  []string // the positions at which steps began; guarded by mu
	items  []string
	answer func(step int, position string) (revenue.BillingStep, error)
	lost   int   // how many times the log fails
	off    bool  // whether the application has switched the module off
	away   error // the error of the check, if it fails
}

func (d *desk) Step(_ context.Context, _ *revenue.BillingConnector, key domain.Secret, position json.RawMessage) (revenue.BillingStep, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if key != "rk_live_1" {
		return revenue.BillingStep{}, errors.New("another key")
	}
	d.steps = append(d.steps, string(position))
	return d.answer(len(d.steps), string(position))
}

func (d *desk) AppendBilling(_ context.Context, rows []revenue.BillingRow) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost > 0 {
		d.lost--
		return errors.New("the log is away")
	}
	for n := range rows {
		d.items = append(d.items, rows[n].ID)
	}
	return nil
}

func (d *desk) Open(_ string, sealed []byte) ([]byte, error) { return sealed, nil }
func (d *desk) Seal(_ string, clear []byte) []byte           { return clear }

func (d *desk) allowed(_ context.Context, ref domain.AppRef) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return ref == web && !d.off, d.away
}

// set changes the behaviour of the desk.
func (d *desk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// wake does the same as the sweeper at the time of the wake-up.
func (d *desk) wake(t *testing.T) {
	t.Helper()
	if _, err := grain.Declare[string, grain.None](kindBook, "wake").Ask(t.Context(), d.ports.Actors, web.String(), "sync"); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// state returns the connector in this node's index.
func (d *desk) state() revenue.ConnectedBilling {
	all := d.ports.Index.Connected(web, 7)
	if len(all) == 0 {
		return revenue.ConnectedBilling{}
	}
	return all[0]
}

func app() *domain.Application {
	return &domain.Application{Organization: domain.Organization{Slug: "acme"}, Slug: "web", Environments: []domain.Environment{{Slug: "production", Number: 7}, {Slug: "staging", Number: 8}}}
}

func stripeSpec() revenue.BillingSpec {
	return revenue.BillingSpec{Provider: revenue.BillingStripe, Environment: "production", Enabled: true, Customers: revenue.CustomersByMetadata}
}

func play(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{store: actorstest.NewStore()}
		node := &grain.Node{Store: d.store, Workers: grain.NewWorkers(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { _ = node.Workers.Run(ctx); close(ended) }()
		d.Host = actorstest.NewHostOf(t, func(c *cluster.Cluster) []cluster.Kind {
			d.ports = &Ports{Actors: c, Index: NewIndex(), Provider: d, Log: d, Opener: d, Allowed: d.allowed, Slots: make(chan struct{}, Slots), Logger: slog.New(slog.DiscardHandler)}
			d.connectors = &Connectors{Actors: c, Index: d.ports.Index, Random: grain.Random{ID: func(prefix string) string { return prefix + "1" }}, Sealer: d, Now: time.Now}
			return Kinds(node, d.ports)
		})
		test(t, d)
		d.Stop()
		cancel()
		<-ended
		time.Sleep(time.Minute) // the library throttles dead letters, and its throttle outlives the messages to a stopped actor
	})
}

// pages answers three pages and then nothing new.
func pages(_ int, position string) (revenue.BillingStep, error) {
	next := map[string]string{"": `"1"`, `"1"`: `"2"`, `"2"`: `"end"`, `"end"`: `"end"`}[position]
	step := revenue.BillingStep{Position: json.RawMessage(next), More: next != `"end"`}
	if position != `"end"` {
		step.Items = []revenue.BillingRow{{ID: next}}
	}
	if next == `"end"` {
		step.Through = time.Now()
	}
	return step, nil
}

// TestAReadingGoesOn lets steps fail, the log be away and the actor end between steps. Nothing is missing, and the
// pauses are respected.
func TestAReadingGoesOn(t *testing.T) {
	play(t, func(t *testing.T, d *desk) {
		d.answer = func(step int, position string) (revenue.BillingStep, error) {
			if step == 2 {
				return revenue.BillingStep{}, &revenue.BillingProblemError{Problem: revenue.BillingLimited, RetryAfter: 10 * time.Second}
			}
			return pages(step, position)
		}
		if _, err := d.connectors.Put(t.Context(), app(), "stripe", stripeSpec(), "rk_live_1", ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := d.state(); got.Sync.Problem != revenue.BillingLimited || got.State(false, time.Now()) != revenue.BillingFailing || got.Known() || !got.Sync.NextAt.Equal(time.Now().Add(10*time.Second)) {
			t.Errorf("after a refusal the state is %+v", got.Sync)
		}
		time.Sleep(9 * time.Second)
		d.wake(t)
		if len(d.steps) != 2 {
			t.Errorf("%d steps before the pause is over", len(d.steps))
		}
		time.Sleep(time.Second)
		d.mu.Lock()
		d.lost = 1
		d.mu.Unlock()
		d.wake(t)
		if got := d.state(); got.Sync.Problem != revenue.BillingLogAway || string(got.Sync.Position) != `"1"` {
			t.Errorf("without the log the state is %+v", got.Sync)
		}
		d.EvictAll()
		time.Sleep(time.Minute)
		d.wake(t)
		got := d.state()
		if want := []string{`"1"`, `"2"`, `"end"`}; !slices.Equal(d.items, want) {
			t.Errorf("the log has %v, want %v", d.items, want)
		}
		if got.State(false, time.Now()) != revenue.BillingCurrent || !got.Known() || got.Sync.Items != 3 || !got.Sync.NextAt.Equal(time.Now().Add(revenue.BillingPollEvery)) {
			t.Errorf("at the end the state is %+v", got.Sync)
		}
		if got.State(false, time.Now().Add(time.Hour)) != revenue.BillingFailing {
			t.Error("a connector that nobody reads for an hour is current")
		}
	})
}

// TestChangesBetweenSteps changes a connector while a step is under way: the step's end changes nothing.
func TestChangesBetweenSteps(t *testing.T) {
	play(t, func(t *testing.T, d *desk) {
		held := make(chan struct{})
		d.answer = func(step int, position string) (revenue.BillingStep, error) {
			if step == 1 {
				d.mu.Unlock()
				<-held
				d.mu.Lock()
			}
			return pages(step, position)
		}
		if _, err := d.connectors.Put(t.Context(), app(), "stripe", stripeSpec(), "rk_live_1", "whsec_1"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		put, err := d.connectors.Put(t.Context(), app(), "stripe", stripeSpec(), "", "whsec_2")
		if err != nil || !put.HasSigningSecret || put.Hook != "bcn_1" {
			t.Fatalf("%+v, %v", put, err)
		}
		close(held)
		synctest.Wait()
		if want := []string{"", "", `"1"`, `"2"`}; !slices.Equal(d.steps, want) {
			t.Errorf("steps began at %q, want %q", d.steps, want)
		}
		_, connector, credential, err := d.connectors.Hooked("bcn_1")
		if err != nil || connector.ID != "stripe" || !slices.Equal(credential.SigningSecrets(time.Now()), []domain.Secret{"whsec_2", "whsec_1"}) || credential.APIKey != "rk_live_1" {
			t.Errorf("the webhook has %v, %v", credential.SigningSecrets(time.Now()), err)
		}
		if later := credential.SigningSecrets(time.Now().Add(destination.SecretRotation)); len(later) != 1 {
			t.Errorf("after a day %d secrets verify", len(later))
		}
		if gone, err := d.connectors.Delete(t.Context(), web, "stripe"); err != nil || gone.ID != "stripe" {
			t.Errorf("deleting: %v", err)
		}
		if _, _, _, err := d.connectors.Hooked("bcn_1"); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("the webhook of a connector that is gone: %v", err)
		}
		if left := append(d.store.Present(kindConnector), d.store.Present(kindSync)...); len(left) != 0 {
			t.Errorf("a deleted connector leaves %v", left)
		}
	})
}

// TestAModuleThatIsOffRests switches the module off for two hours, in the middle of a failure. No provider is called,
// and within a minute after the module is on again, the reading continues at its position.
func TestAModuleThatIsOffRests(t *testing.T) {
	play(t, func(t *testing.T, d *desk) {
		d.answer = pages
		if _, err := d.connectors.Put(t.Context(), app(), "stripe", stripeSpec(), "rk_live_1", ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before := d.state()
		if before.State(false, time.Now()) != revenue.BillingCurrent {
			t.Fatalf("the first reading ends with %+v", before.Sync)
		}
		d.set(func() {
			d.answer = func(int, string) (revenue.BillingStep, error) {
				return revenue.BillingStep{}, &revenue.BillingProblemError{Problem: revenue.BillingProviderAway}
			}
		})
		time.Sleep(revenue.BillingPollEvery)
		d.wake(t)
		if got := d.state(); got.State(false, time.Now()) != revenue.BillingFailing {
			t.Fatalf("after a failure the state is %+v", got.Sync)
		}
		d.set(func() { d.off, d.answer, d.steps = true, pages, nil })
		for range 120 {
			time.Sleep(revenue.BillingPollEvery)
			d.wake(t)
		}
		got := d.state()
		if len(d.steps) != 0 || string(got.Sync.Position) != string(before.Sync.Position) || !got.Sync.LastSyncAt.Equal(before.Sync.LastSyncAt) || got.Sync.Failures != 0 {
			t.Errorf("while the module is off %d steps were made, and the state is %+v", len(d.steps), got.Sync)
		}
		if got.State(false, time.Now()) != revenue.BillingSyncing || !got.Known() {
			t.Errorf("a reading that rests is %s", got.State(false, time.Now()))
		}
		d.set(func() { d.off, d.away = false, errors.New("the application's actor is away") })
		time.Sleep(revenue.BillingPollEvery)
		d.wake(t)
		if got := d.state(); len(d.steps) != 0 || got.State(false, time.Now()) != revenue.BillingFailing {
			t.Errorf("while nobody knows of the module %d steps were made, and the state is %+v", len(d.steps), got.Sync)
		}
		d.set(func() { d.away = nil })
		time.Sleep(revenue.BillingPollEvery)
		d.wake(t)
		got = d.state()
		if want := []string{`"end"`}; !slices.Equal(d.steps, want) || got.State(false, time.Now()) != revenue.BillingCurrent {
			t.Errorf("when the module is on again steps begin at %q, want %q; the state is %+v", d.steps, want, got.Sync)
		}
	})
}

// TestConnectorsThatAreRefused puts invalid connectors.
func TestConnectorsThatAreRefused(t *testing.T) {
	play(t, func(t *testing.T, d *desk) {
		d.answer = pages
		refused := func(what string, spec revenue.BillingSpec, key, signing domain.Secret, want string) {
			t.Helper()
			_, err := d.connectors.Put(t.Context(), app(), "one", spec, key, signing)
			if problem, ok := errors.AsType[*domain.Error](err); !ok || len(problem.Fields) == 0 || problem.Fields[0].Field != want || strings.Contains(err.Error(), "secretpart") {
				t.Errorf("%s: %v", what, err)
			}
		}
		test := stripeSpec()
		refused("a test key in production", test, "rk_test_secretpart", "", "apiKey")
		refused("no key", test, "", "", "apiKey")
		refused("a publishable key", test, "pk_live_secretpart", "", "apiKey")
		refused("no signing secret", test, "rk_live_1", "secretpart", "signingSecret")
		test.Environment = "moon"
		refused("an environment that is not there", test, "rk_live_1", "", "environment")
		if _, err := d.connectors.Put(t.Context(), app(), "one", revenue.BillingSpec{Provider: revenue.BillingGeneric, Environment: "production", Enabled: true, Customers: revenue.CustomersByMetadata}, "", ""); err != nil {
			t.Fatal(err)
		}
		refused("another provider", stripeSpec(), "rk_live_1", "", "provider")
		if all, err := d.connectors.List(t.Context(), web); err != nil || len(all) != 1 || all[0].State(false, time.Now()) != revenue.BillingWaiting || all[0].State(true, time.Now()) != revenue.BillingCurrent {
			t.Errorf("%v, %v", all, err)
		}
	})
}
