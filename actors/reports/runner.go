package reports

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/report"
)

// Traffic reads the contents of reports.
type Traffic interface {
	// ReportContent returns the content of a regular report about a period.
	ReportContent(ctx context.Context, app *domain.Application, report *report.Report, period report.Period) (report.Content, error)
	// Live returns the current visitors.
	Live(ctx context.Context, environment domain.Environment) (analytics.Live, error)
}

// Sender sends letters to the mail server.
type Sender interface {
	// SendReport makes one attempt. If it fails, retry reports whether another attempt may succeed.
	SendReport(ctx context.Context, mail *report.Mail) (retry bool, err error)
}

// Limits of the runner.
const (
	// lookEvery is the pause between two searches for due reports; liveEvery is the pause between two reads of an
	// environment's current visitors.
	lookEvery = 10 * time.Second
	liveEvery = time.Minute
	// sendTime bounds one attempt including the reads before it.
	sendTime = 30 * time.Second
	// atOnce is the number of reports that are handled concurrently: a mail server that hangs occupies one place for
	// each.
	atOnce = 8
)

// Runner makes and sends the letters of the applications that this node owns. Its snapshot may be old: the actor of the
// application decides.
type Runner struct {
	Actors  grain.Caller
	Known   *Known
	Traffic Traffic
	Sender  Sender
	// Owns reports whether this node sends the reports of an application. App returns an existing application.
	Owns func(app domain.AppRef) bool
	App  func(app domain.AppRef) (*domain.Application, bool)
	// Unsubscribe returns the link with which a recipient unsubscribes from a report.
	Unsubscribe func(app domain.AppRef, report, recipient string) string
	Now         func() time.Time
	Logger      *slog.Logger

	mu sync.Mutex
	// seen is when the visitors of an environment were last read; guarded by mu.
	seen map[string]time.Time
}

// Run works until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	r.seen = map[string]time.Time{}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		r.look(ctx)
	}
}

// look handles all reports once.
func (r *Runner) look(ctx context.Context) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, report := range r.Known.enabled() {
		app, there := r.App(report.App)
		if !there || !r.Owns(report.App) || !app.Has(domain.ModuleAnalytics) || ctx.Err() != nil {
			continue
		}
		group.Go(func() error {
			if err := r.tend(ctx, app, report); err != nil && ctx.Err() == nil {
				r.Logger.Warn("a report was not sent", "app", report.App.String(), "report", report.ID, "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // failures are logged and tried again
}

// tend makes the letters of a report if they are due, and attempts the waiting ones.
func (r *Runner) tend(ctx context.Context, app *domain.Application, rep report.Report) error {
	period := rep.Kind.Period(r.Now(), app.Location())
	spike, err := r.spike(ctx, &rep)
	if err != nil {
		return err
	}
	if rep.Due(period, spike) {
		if rep, err = booksClaim.Ask(ctx, r.Actors, rep.App.String(), claimReport{rep.ID, period, spike}); err != nil {
			return err
		}
	}
	contents := map[report.Period]report.Content{}
	for i := range rep.Letters {
		if rep.Letters[i].Next.After(r.Now()) || ctx.Err() != nil {
			continue
		}
		if err := r.attempt(ctx, app, &rep, rep.Letters[i].ID, contents); err != nil {
			return err
		}
	}
	return nil
}

// spike reads the current visitors of a report's environment, once per liveEvery and only if a spike would be reported.
// It returns nil if there is no spike.
func (r *Runner) spike(ctx context.Context, rep *report.Report) (*report.Spike, error) {
	now := r.Now()
	r.mu.Lock()
	wanted := rep.Kind == report.ReportSpike && now.Sub(r.seen[rep.ID]) >= liveEvery && now.Sub(rep.SpikeAt) >= report.SpikeRest
	if wanted {
		r.seen[rep.ID] = now
	}
	r.mu.Unlock()
	if !wanted {
		return nil, nil //nolint:nilnil // nil means that there is no spike
	}
	live, err := r.Traffic.Live(ctx, domain.Environment{Slug: rep.Environment, Number: rep.Number})
	if err != nil || live.Visitors < rep.Threshold {
		return nil, err
	}
	live.Mask()
	return &report.Spike{At: now.UTC().Truncate(time.Millisecond), Visitors: live.Visitors, Pages: valuesOf(live.Pages), Sources: valuesOf(live.Sources)}, nil
}

func valuesOf(rows []analytics.LiveRow) (values []report.Value) {
	for _, row := range rows {
		values = append(values, report.Value(row))
	}
	return values
}

// attempt claims one letter, sends it, and records the result. contents caches the contents that were read for earlier
// letters.
func (r *Runner) attempt(ctx context.Context, app *domain.Application, report *report.Report, id string, contents map[report.Period]report.Content) error {
	begun, err := booksBegin.Ask(ctx, r.Actors, report.App.String(), findLetter{report.ID, id})
	if err != nil || !begun.OK {
		return err
	}
	end := endLetter{ID: report.ID, Letter: id}
	end.Retry, err = r.send(ctx, app, report, begun.Letter, contents)
	if err != nil {
		if ctx.Err() != nil { // this node stops; its successor attempts the letter after the lease
			return err
		}
		r.Logger.Warn("a letter of a report was not sent", "app", report.App.String(), "report", report.ID, "attempt", begun.Letter.Attempts, "retry", end.Retry, "error", err)
		end.Problem = err.Error()
	}
	_, err = booksEnd.Ask(ctx, r.Actors, report.App.String(), end)
	return err
}

// send fills a letter and sends it to the mail server.
func (r *Runner) send(ctx context.Context, app *domain.Application, rep *report.Report, letter report.Letter, contents map[report.Period]report.Content) (retry bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	mail := report.Mail{
		Letter: letter, Kind: rep.Kind, App: rep.App, AppName: app.Name, Environment: rep.Environment, Location: app.Location(), Threshold: rep.Threshold,
		Unsubscribe: r.Unsubscribe(rep.App, rep.ID, letter.To),
	}
	if letter.Spike == nil {
		content, known := contents[letter.Period]
		if !known {
			if content, err = r.Traffic.ReportContent(ctx, app, rep, letter.Period); err != nil {
				return true, err
			}
			contents[letter.Period] = content
		}
		mail.Content = content
	}
	return r.Sender.SendReport(ctx, &mail)
}
