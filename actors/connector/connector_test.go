package connector

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/connector"
)

// world is a node with connectors that have scripted handlers.
type world struct {
	*actorstest.Host
	store      *actorstest.Store
	connectors *Connectors
	begun      time.Time

	mu sync.Mutex
	// made holds the times of probes since the beginning. active counts the probes under way, and most is the largest
	// such count.
	made         []time.Duration
	active, most int
	secrets      []domain.Secret
	// problem is the handler's failure, takes is the duration of its answer.
	problem string
	takes   time.Duration
}

func (w *world) Probe(ctx context.Context, _ domain.AppRef, _ string, secret domain.Secret, _ string) connector.Probe {
	w.mu.Lock()
	w.made = append(w.made, time.Since(w.begun))
	w.secrets = append(w.secrets, secret)
	w.active++
	w.most = max(w.most, w.active)
	probe, takes := connector.Probe{At: time.Now(), Answered: w.problem == "", Problem: w.problem, Capabilities: []string{"users"}, Version: "1"}, w.takes
	w.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		probe = connector.Probe{At: probe.At, Problem: "time"}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active--
	return probe
}

func (w *world) Open(_ string, sealed []byte) ([]byte, error) { return sealed, nil }
func (w *world) Seal(_ string, clear []byte) []byte           { return clear }

func (w *world) CheckTarget(context.Context, string) *domain.FieldError { return nil }

// script sets the behaviour of the handler.
func (w *world) script(problem string, takes time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problem, w.takes = problem, takes
}

// probes returns the times of the probes, and the largest number of concurrent ones.
func (w *world) probes() (made []time.Duration, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]time.Duration{}, w.made...), w.most
}

func (w *world) status() connector.Status { return w.connectors.Connector(web()).Status() }

// Due implements cluster.Wakeups with the store.
func (w *world) Due(at time.Time, yield func(cluster.Due) bool) {
	due, _ := w.store.Due(context.Background(), at, 100) // it does not fail
	for _, one := range due {
		if !yield(one) {
			return
		}
	}
}

func web() domain.AppRef { return domain.AppRef{Org: "acme", App: "web"} }

const secret = "0123456789abcdef0123456789abcdef"

// play runs a test in a world with a virtual clock.
func play(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{store: actorstest.NewStore(), begun: time.Now()}
		node := &grain.Node{Store: w.store, Workers: grain.NewWorkers(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(context.Background())
		var parts sync.WaitGroup
		parts.Go(func() { _ = node.Workers.Run(ctx) })
		w.Host = actorstest.NewHostOf(t, func(c *cluster.Cluster) []cluster.Kind {
			ids := 0
			ports := &Ports{
				Actors: c, Index: &Index{}, Prober: w, Opener: w, Logger: slog.New(slog.DiscardHandler),
				Random: grain.Random{ID: func(prefix string) string { ids++; return prefix + strconv.Itoa(ids) }},
			}
			w.connectors = &Connectors{Ports: ports, Targets: w, Sealer: w, Now: time.Now}
			return []cluster.Kind{Kind(node, ports)}
		})
		sweeper := &cluster.Sweeper{Cluster: w.Cluster, Store: w, Every: time.Second, Logger: slog.New(slog.DiscardHandler), Now: time.Now}
		parts.Go(func() { _ = sweeper.Run(ctx) })
		test(t, w)
		cancel()
		w.Stop()
		parts.Wait()
		time.Sleep(time.Minute) // the library throttles dead letters, and its throttle outlives the messages to a stopped actor
	})
}

// put sets the connector.
func (w *world) put(t *testing.T, url string, secret domain.Secret, enabled bool) {
	t.Helper()
	if _, err := w.connectors.Put(t.Context(), web(), url, secret, enabled); err != nil {
		t.Fatal(err)
	}
}

// TestAConnectorIsProbedEveryMinute follows the status through failures, switching off and on, and another address.
func TestAConnectorIsProbedEveryMinute(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		time.Sleep(500 * time.Millisecond) // wake-ups are at whole seconds, the checks between them
		want := func(status connector.Status, probes int) {
			t.Helper()
			if made, most := w.probes(); w.status() != status || len(made) != probes || most > 1 {
				t.Fatalf("after %v: %s after %d probes, %d at a time; want %s after %d", time.Since(w.begun), w.status(), len(made), most, status, probes)
			}
		}
		w.put(t, "https://acme.example/svc/", secret, true)
		want(connector.Configured, 0)
		time.Sleep(10 * time.Second)
		want(connector.Healthy, 1)
		w.script("the handler answered with status 500", 0)
		time.Sleep(time.Minute)
		want(connector.Healthy, 2)
		time.Sleep(time.Minute)
		want(connector.Unhealthy, 3)
		if kept := w.connectors.Connector(web()); kept.URL != "https://acme.example/svc" || kept.Health.Version != "1" || kept.Health.Problem == "" || time.Since(kept.Health.LastHealthAt) < time.Minute {
			t.Errorf("the connector is %+v", kept)
		}
		w.script("", 30*time.Second) // it hangs
		time.Sleep(2 * time.Minute)
		want(connector.Unhealthy, 5)
		w.put(t, "https://acme.example/svc", "", false)
		time.Sleep(10 * time.Minute)
		want(connector.Disabled, 5)
		w.script("", 0)
		w.put(t, "https://acme.example/svc", "", true)
		want(connector.Configured, 5)
		time.Sleep(10 * time.Second)
		want(connector.Healthy, 6)
		w.put(t, "https://acme.example/other", "", true)
		want(connector.Configured, 6)
		time.Sleep(5 * time.Minute)
		want(connector.Healthy, 11)
		made, _ := w.probes()
		for n := 7; n < len(made); n++ {
			if pause := made[n] - made[n-1]; pause < connector.Every || pause > connector.Every+2*time.Second {
				t.Errorf("probe %d came after %v", n, pause)
			}
		}
		if err := w.connectors.Delete(t.Context(), web()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		want(connector.Unconfigured, 11)
	})
}

// TestProbesGoOnThroughMoves ends the activation repeatedly, also while a probe is under way. Probes never overlap, and
// the next one always follows.
func TestProbesGoOnThroughMoves(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		w.script("", 4*time.Second)
		w.put(t, "https://acme.example/svc", secret, true)
		for range 200 {
			time.Sleep(1700 * time.Millisecond)
			w.EvictAll()
		}
		made, most := w.probes()
		if most != 1 || len(made) < 5 || len(made) > 6 {
			t.Errorf("%d probes in 340 seconds, %d at a time: %v", len(made), most, made)
		}
		if w.status() != connector.Healthy {
			t.Errorf("it is %s", w.status())
		}
	})
}

// TestACallerProbesAtOnce lets callers probe in addition to the schedule; each waits for the probe under way.
func TestACallerProbesAtOnce(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		if _, _, err := w.connectors.Probe(t.Context(), web()); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("without a connector: %v", err)
		}
		w.script("", 3*time.Second)
		w.put(t, "https://acme.example/svc", secret, true)
		time.Sleep(1500 * time.Millisecond) // the first probe is under way
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				probe, after, err := w.connectors.Probe(context.Background(), web())
				if err != nil || probe.Problem != "" || after.Status() != connector.Healthy || !after.Health.LastProbeAt.Equal(probe.At) {
					t.Errorf("%+v, %+v, %v", probe, after, err)
				}
			})
		}
		callers.Wait()
		if made, most := w.probes(); len(made) != 3 || most != 1 {
			t.Errorf("%d probes, %d at a time", len(made), most)
		}
		w.script("bad", 0)
		w.put(t, "https://acme.example/svc", "", false)
		probe, after, err := w.connectors.Probe(t.Context(), web())
		if err != nil || probe.Problem != "bad" || after.Status() != connector.Disabled {
			t.Errorf("switched off: %+v, %s, %v", probe, after.Status(), err)
		}
	})
}

// TestAResultOfAnotherAddressIsDropped changes the address while a probe is under way.
func TestAResultOfAnotherAddressIsDropped(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		w.script("", 3*time.Second)
		w.put(t, "https://acme.example/a", secret, true)
		time.Sleep(1500 * time.Millisecond)
		w.put(t, "https://acme.example/b", "fedcba9876543210fedcba9876543210", true)
		time.Sleep(4 * time.Second) // the probe of a has ended
		if w.status() != connector.Configured {
			t.Errorf("it is %s", w.status())
		}
		time.Sleep(12 * time.Second)
		if made, most := w.probes(); len(made) != 2 || most != 1 || w.status() != connector.Healthy || w.secrets[1] == secret {
			t.Errorf("%d probes, %d at a time, %s", len(made), most, w.status())
		}
	})
}

// TestWhatAConnectorRefuses covers the checks of a change.
func TestWhatAConnectorRefuses(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct {
			url    string
			secret domain.Secret
		}{
			"no secret": {"https://acme.example/", ""}, "a short secret": {"https://acme.example/", "short"}, "a secret with a space": {"https://acme.example/", secret + " "},
			"an inner address": {"http://10.0.0.1/", secret}, "the address of machines' settings": {"http://169.254.169.254/", secret}, "this machine": {"http://localhost:8080/", secret},
			"a query": {"https://acme.example/?a=1", secret}, "credentials": {"https://a:b@acme.example/", secret}, "another scheme": {"file:///etc/passwd", secret},
		} {
			if _, err := w.connectors.Put(t.Context(), web(), c.url, c.secret, true); domain.CodeOf(err) != domain.CodeInvalidRequest {
				t.Errorf("%s: %v", name, err)
			}
		}
		if w.connectors.Connector(web()) != nil {
			t.Error("there is a connector")
		}
	})
}

// TestANodeHearsOfConnectors publishes entities that other nodes saved.
func TestANodeHearsOfConnectors(t *testing.T) {
	t.Parallel()
	index := &Index{}
	entity := func(sequence uint32, url string) domain.Entity {
		one := domain.Entity{Owner: "connector/acme/web", Kind: kindConnector, ID: kindConnector, Version: domain.Version{Generation: 1, Sequence: sequence}, Deleted: url == ""}
		one.Payload = []byte(`{"url":"` + url + `","enabled":true}`)
		return one
	}
	publish := func(e domain.Entity) { index.PublishEntities([]domain.Entity{e}, nil) }
	publish(entity(2, "https://acme.example/b"))
	publish(entity(1, "https://acme.example/a"))
	if got := index.Connector(web()); got == nil || got.URL != "https://acme.example/b" {
		t.Errorf("it is %+v", got)
	}
	publish(entity(3, ""))
	if got := index.Connector(web()); got != nil {
		t.Errorf("after the deletion it is %+v", got)
	}
}
