package reports

import (
	"context"
	"errors"
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
	"svc/domain/analytics"
	"svc/domain/report"
)

var web = domain.AppRef{Org: "acme", App: "web"}

// world is a node with reports; its mail server and numbers are scripted.
type world struct {
	*actorstest.Host
	store   *actorstest.Store
	app     domain.Application
	reports *Reports

	mu       sync.Mutex
	visitors uint64
	taken    []string // guarded by mu, as the others
	answer   func(mail *report.Mail) (retry bool, err error)
	read     int
}

func (w *world) ReportContent(context.Context, *domain.Application, *report.Report, report.Period) (report.Content, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read++
	return report.Content{}, nil
}

func (w *world) Live(context.Context, domain.Environment) (analytics.Live, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return analytics.Live{Visitors: w.visitors}, nil
}

func (w *world) SendReport(_ context.Context, mail *report.Mail) (retry bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answer != nil {
		if retry, err := w.answer(mail); err != nil {
			return retry, err
		}
	}
	about := mail.Letter.Period.From
	if mail.Letter.Spike != nil {
		about = fmt.Sprint(mail.Letter.Spike.Visitors)
	}
	w.taken = append(w.taken, mail.Letter.To+" "+about+" "+time.Now().In(mail.Location).Format("Mon 01-02 15:04"))
	return false, nil
}

// letters returns the letters that the mail server took since the last call.
func (w *world) letters() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.taken
	w.taken = nil
	slices.Sort(taken)
	return taken
}

// runner runs a runner of the node until stop is called.
func (w *world) runner() (stop func()) {
	known := NewKnown()
	runner := &Runner{
		Actors: w.Cluster, Known: known, Traffic: w, Sender: w, Owns: func(domain.AppRef) bool { return true },
		App:         func(domain.AppRef) (*domain.Application, bool) { app := w.app; return &app, true },
		Unsubscribe: func(domain.AppRef, string, string) string { return "" }, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { _ = runner.Run(ctx) })
	ended.Go(func() { // the snapshot follows a while later
		for ticker := time.Tick(20 * time.Second); ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker:
				known.PublishEntities(w.store.Present(entityReport), func(domain.Entity, error) {})
			}
		}
	})
	return func() { cancel(); ended.Wait() }
}

// mornings lets a number of runners work from seven to nine o'clock on each of the next days. Nothing is due at other
// times.
func (w *world) mornings(days, runners int) {
	for range days {
		now := time.Now().In(w.app.Location())
		seven := time.Date(now.Year(), now.Month(), now.Day(), 7, 0, 0, 0, now.Location())
		if !seven.After(now) {
			seven = seven.AddDate(0, 0, 1)
		}
		time.Sleep(time.Until(seven))
		var stops []func()
		for range runners {
			stops = append(stops, w.runner())
		}
		time.Sleep(2 * time.Hour)
		for _, stop := range stops {
			stop()
		}
	}
}

// play runs a test in a world with an application in Berlin, from Friday, 20 March 2026 at noon on: a week before the
// clocks change.
func play(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 3, 20, 11, 0, 0, 0, time.UTC)))
		w := &world{store: actorstest.NewStore(), app: domain.Application{Organization: domain.Organization{Slug: "acme"}, Slug: "web", Name: "Web", Timezone: "Europe/Berlin", Modules: []domain.Module{domain.ModuleAnalytics}}}
		node := &grain.Node{Store: w.store, Workers: grain.NewWorkers(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { _ = node.Workers.Run(ctx); close(ended) }()
		w.Host = actorstest.NewHostOf(t, func(*cluster.Cluster) []cluster.Kind { return Kinds(node) })
		w.reports = &Reports{Actors: w.Cluster, Now: time.Now}
		test(t, w)
		w.Stop()
		cancel()
		<-ended
		time.Sleep(time.Minute) // the library throttles dead letters, and its throttle outlives the messages to a stopped actor
	})
}

// put makes a report with two recipients.
func (w *world) put(t *testing.T, kind report.Kind, threshold uint64) report.Report {
	t.Helper()
	made, err := w.reports.PutReport(t.Context(), &w.app, "rpt_"+string(kind), report.Spec{
		Kind: kind, Environment: "production", Number: 7, Recipients: []string{"ada@acme.example", "bob@acme.example"}, Threshold: threshold, Enabled: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// want compares the letters that the mail server took, for both recipients.
func (w *world) want(t *testing.T, what string, abouts ...string) {
	t.Helper()
	var want []string
	for _, to := range []string{"ada@acme.example ", "bob@acme.example "} {
		for _, about := range abouts {
			want = append(want, to+about)
		}
	}
	slices.Sort(want)
	if got := w.letters(); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

const day = 24 * time.Hour

// TestReportsAreSentOncePerPeriod covers a change of the clocks and the end of a month.
func TestReportsAreSentOncePerPeriod(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		w.put(t, report.Weekly, 0)
		w.put(t, report.Monthly, 0)
		w.mornings(2, 1)
		w.want(t, "before the first Monday")
		w.mornings(13, 1)
		w.want(t, "two weeks and a month", "2026-03-16 Mon 03-23 08:00", "2026-03-23 Mon 03-30 08:00", "2026-03-01 Wed 04-01 08:00")
		if w.read != 3 { // no runner works at the moment
			t.Errorf("the numbers were read %d times, want once a period", w.read)
		}
		time.Sleep(15*day + 23*time.Hour)
		stop := w.runner()
		time.Sleep(50 * time.Second)
		w.want(t, "the latest week after a pause of two", "2026-04-13 Mon 04-20 08:00")
		stop()
	})
}

// TestALetterOutlivesItsNode ends a node between claim and sending, and lets two nodes run concurrently.
func TestALetterOutlivesItsNode(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		w.put(t, report.Weekly, 0)
		claimed, err := booksClaim.Ask(t.Context(), w.Cluster, web.String(), claimReport{ID: "rpt_weekly", Period: report.Period{From: "2026-03-16", To: "2026-03-22"}})
		if err != nil || len(claimed.Letters) != 2 {
			t.Fatalf("%v %v", claimed, err)
		}
		if begun, err := booksBegin.Ask(t.Context(), w.Cluster, web.String(), findLetter{"rpt_weekly", claimed.Letters[0].ID}); err != nil || !begun.OK {
			t.Fatalf("%v %v", begun, err)
		}
		w.EvictAll() // the node is gone
		first, second := w.runner(), w.runner()
		time.Sleep(35 * time.Second)
		if got := w.letters(); len(got) != 1 {
			t.Errorf("within the lease: %q, want that of bob alone", got)
		}
		time.Sleep(time.Minute)
		if got := w.letters(); len(got) != 1 {
			t.Errorf("after the lease: %q, want that of ada alone", got)
		}
		first()
		second()
		w.mornings(6, 2)
		w.want(t, "the week is claimed already")
		w.mornings(4, 2)
		w.want(t, "two runners", "2026-03-23 Mon 03-30 08:00")
	})
}

// TestAMailServerThatRefuses checks that letters are tried again, and given up in the end.
func TestAMailServerThatRefuses(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		tries := map[string]int{}
		ids := map[string]bool{}
		w.answer = func(mail *report.Mail) (bool, error) {
			tries[mail.Letter.To]++
			ids[mail.Letter.ID] = true
			if mail.Letter.To == "ada@acme.example" && tries[mail.Letter.To] < 3 {
				return true, errors.New("the box is full")
			}
			if mail.Letter.To == "bob@acme.example" {
				return false, errors.New("nobody of this name")
			}
			return false, nil
		}
		w.put(t, report.Weekly, 0)
		w.mornings(4, 1)
		if got := w.letters(); len(got) != 1 || tries["ada@acme.example"] != 3 || tries["bob@acme.example"] != 1 || len(ids) != 2 {
			t.Errorf("%q after %v under %v", got, tries, ids)
		}
		list, err := w.reports.Reports(t.Context(), web)
		if err != nil || len(list) != 1 || len(list[0].Letters) != 0 || list[0].Problem != "" || list[0].SentAt.IsZero() {
			t.Errorf("%+v %v", list, err)
		}
	})
}

// TestSpikesAreToldAtMostTwiceADay lets a crowd arrive, stay and return.
func TestSpikesAreToldAtMostTwiceADay(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		crowd := func(n uint64) { w.mu.Lock(); w.visitors = n; w.mu.Unlock() }
		stop := w.runner()
		w.put(t, report.ReportSpike, 100)
		crowd(99)
		time.Sleep(time.Hour)
		w.want(t, "99 of 100")
		crowd(150)
		time.Sleep(2 * time.Minute)
		got := w.letters()
		if len(got) != 2 || got[0][:20] != "ada@acme.example 150" {
			t.Errorf("a crowd: %q", got)
		}
		time.Sleep(11 * time.Hour)
		w.want(t, "within twelve hours")
		stop()
		stop = w.runner()
		time.Sleep(50 * time.Minute)
		w.want(t, "within twelve hours, by another node")
		time.Sleep(20 * time.Minute)
		if got := w.letters(); len(got) != 2 {
			t.Errorf("after twelve hours: %q", got)
		}
		stop()
	})
}

// TestRecipientsLeave removes a recipient by the link, with letters on their way.
func TestRecipientsLeave(t *testing.T) {
	play(t, func(t *testing.T, w *world) {
		made := w.put(t, report.Weekly, 0)
		if _, err := booksClaim.Ask(t.Context(), w.Cluster, web.String(), claimReport{ID: made.ID, Period: report.Period{From: "2026-03-16", To: "2026-03-22"}}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := w.reports.Unsubscribe(t.Context(), web, made.ID, report.RecipientHash("ada@acme.example")); err != nil {
				t.Fatal(err)
			}
		}
		stop := w.runner()
		time.Sleep(time.Minute)
		if got := w.letters(); len(got) != 1 || got[0][:3] != "bob" {
			t.Errorf("%q, want that of bob", got)
		}
		made.Recipients = []string{"bob@acme.example"}
		made.Enabled = false
		if _, err := w.reports.PutReport(t.Context(), &w.app, "other", made.Spec); err != nil {
			t.Fatal(err)
		}
		stop()
		w.mornings(8, 1)
		w.want(t, "a report that is off")
		made.Enabled = true
		if again, err := w.reports.PutReport(t.Context(), &w.app, "other", made.Spec); err != nil || again.ID != made.ID {
			t.Fatalf("%v %v", again, err)
		}
		stop = w.runner()
		time.Sleep(time.Minute)
		stop()
		w.want(t, "one that is on again waits for its next period")
		if err := w.reports.DeleteReport(t.Context(), web, made.ID); err != nil {
			t.Fatal(err)
		}
		if err := w.reports.DeleteReport(t.Context(), web, made.ID); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("deleted twice: %v", err)
		}
		w.mornings(8, 1)
		w.want(t, "a report that is deleted")
	})
}
