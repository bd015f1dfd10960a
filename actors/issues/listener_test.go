package issues

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/alerting"
	"svc/actors/pipeline"
	"svc/domain"
	"svc/domain/ingest"
	"svc/domain/issue"
	"svc/domain/occurrence"
)

// hearing is a pair of applications with actors that may not answer.
type hearing struct {
	mu   sync.Mutex
	deaf map[string]bool
	news map[string][]uint64
	hits map[uint64]int
	// stored holds the occurrences of each block.
	stored map[uint64][]occurrence.Row
}

func (h *hearing) NewIssues(ctx context.Context, app domain.AppRef, news issue.NewIssues) error {
	if h.isDeaf(app.App) {
		<-ctx.Done()
		return ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.news[app.App] = append(h.news[app.App], news.Block)
	return nil
}

func (h *hearing) isDeaf(app string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deaf[app]
}

func (h *hearing) Regressed(context.Context, domain.AppRef, issue.Regressions) error { return nil }

func (h *hearing) noted(context.Context, uint64, []issueKey) error { return nil }

func (h *hearing) occurred(_ context.Context, _ uint64, issues []issueHits, _ func(uint64) bool) (_ []issueKey, late []unreported) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, issue := range issues {
		if h.deaf["issues"] {
			late = append(late, unreported{issue, errors.New("deaf")})
		} else {
			h.hits[issue.issue]++
		}
	}
	return nil, late
}

// IssueTotals counts the stored occurrences, unless the store does not answer.
func (h *hearing) IssueTotals(ctx context.Context, environments, issues []uint64) (out []issue.Total, _ error) {
	return h.OccurrencesAfter(ctx, environments, issues, 0)
}

// OccurrencesAfter does the same for blocks after one.
func (h *hearing) OccurrencesAfter(ctx context.Context, environments, issues []uint64, block uint64) (out []issue.Total, _ error) {
	if h.isDeaf("store") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := map[issueKey]uint64{}
	for number, rows := range h.stored {
		for _, row := range rows {
			if number > block && slices.Contains(environments, row.EnvironmentNumber) && slices.Contains(issues, row.Issue) {
				counts[issueKey{row.EnvironmentNumber, row.Issue}]++
			}
		}
	}
	for key, count := range counts {
		out = append(out, issue.Total{Environment: key.environment, Issue: key.issue, Occurrences: count, Name: "E"})
	}
	return out, nil
}

// TestADeafActorDelaysNobody stops the alerting actor of one application and the actors of issues from answering.
// Blocks are committed all the same, and every block is reported to the actors once they answer.
func TestADeafActorDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &hearing{deaf: map[string]bool{"broken": true, "issues": true}, news: map[string][]uint64{}, hits: map[uint64]int{}, stored: map[uint64][]occurrence.Row{}}
		notes := actorstest.NewStore()
		logger := slog.New(slog.DiscardHandler)
		outbox := pipeline.NewOutbox(notes, nil, logger)
		book := alerting.NewRuleIndex()
		for number, app := range []string{"whole", "broken"} {
			rules := worldRules()[:1]
			rules[0].Number = uint64(number)
			book.Publish(domain.Version{}, domain.AppRef{Org: "o", App: app}, rules)
		}
		watch := &ResolvedSet{Partitions: 1}
		watch.add(7)
		listener := &Listener{Resolved: watch, Issues: heard, Totals: heard, Rules: book, Alerts: heard, Outbox: outbox, Logger: logger}
		sink := pipeline.NewSink(pipeline.SinkConfig{Store: shardStore{}, Outbox: outbox, Listeners: []pipeline.Listener{listener}, Logger: logger})
		for n := range uint64(5) {
			occurrences := []occurrence.Row{{EnvironmentNumber: 0, Issue: 100 + 10*n}, {EnvironmentNumber: 1, Issue: 101 + 10*n}, {EnvironmentNumber: 3, Issue: 7}}
			for i := range occurrences {
				occurrences[i].Ts, occurrences[i].ReceivedAt = time.Now(), time.Now()
			}
			began := time.Now()
			heard.stored[1+n] = occurrences
			block := listener.Open()
			block.Saw(int64(n), &ingest.Rows{Occurrences: occurrences})
			if err := block.Stored(t.Context(), pipeline.NewStoredBlock(sink, 1, 1+n, nil)); err != nil {
				t.Fatal(err)
			}
			took, bound := time.Since(began), 2*pipeline.AnswerTime
			if n > 0 {
				bound = pipeline.AnswerTime / 2 // an actor that is known not to answer is not waited for
			}
			if took > bound {
				t.Errorf("block %d took %s", n, took)
			}
		}
		if len(heard.news["whole"]) != 5 || len(heard.news["broken"]) != 0 || outbox.Len() != 2 {
			t.Errorf("told %v, notes wait for %d actors", heard.news, outbox.Len())
		}
		clear(heard.deaf)
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan struct{})
		go func() { defer close(ran); _ = outbox.Run(ctx) }()
		time.Sleep(5 * time.Second)
		cancel()
		<-ran
		if !slices.Equal(heard.news["broken"], []uint64{1, 2, 3, 4, 5}) || heard.hits[7] != 5 || outbox.Len() != 0 {
			t.Errorf("told %v, %v", heard.news, heard.hits)
		}
	})
}

// hurried counts how often a block is to be stored soon for a rule that waits for new issues.
type hurried struct{ soon int }

func (h *hurried) Awaited(uint64) (domain.AppRef, bool, bool) { return domain.AppRef{}, true, false }
func (h *hurried) FlushSoon(uint64)                           { h.soon++ }

// TestAKnownIssueHurriesNobody adds a new issue and a known one to the open block.
func TestAKnownIssueHurriesNobody(t *testing.T) {
	rules := &hurried{}
	listener := &Listener{Rules: rules, Resolved: &ResolvedSet{}}
	listener.known.add([]uint64{9})
	for issue, want := range map[uint64]int{9: 0, 10: 1} {
		rules.soon = 0
		listener.Open().Saw(0, &ingest.Rows{Occurrences: []occurrence.Row{{EnvironmentNumber: 3, Issue: issue}}})
		if rules.soon != want {
			t.Errorf("issue %d has the block stored soon %d times, want %d", issue, rules.soon, want)
		}
	}
}

// TestTheNoteKindIsThatOfAlertingActors compares the kind in notes with the kind of the actors.
func TestTheNoteKindIsThatOfAlertingActors(t *testing.T) {
	if kindAlerting != alerting.KindAlerting {
		t.Errorf("notes are for %s, the actors are %s", kindAlerting, alerting.KindAlerting)
	}
}

// TestNewIssuesAreLookedUpLater stops the store from answering the query for new issues. No block waits for it more
// than once. Once it answers, exactly the issues that were new in each block are reported to the rules.
func TestNewIssuesAreLookedUpLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &hearing{deaf: map[string]bool{"store": true}, news: map[string][]uint64{}, hits: map[uint64]int{}, stored: map[uint64][]occurrence.Row{}}
		logger := slog.New(slog.DiscardHandler)
		outbox := pipeline.NewOutbox(actorstest.NewStore(), nil, logger)
		book := alerting.NewRuleIndex()
		rules := worldRules()[:1]
		book.Publish(domain.Version{}, domain.AppRef{Org: "o", App: "shop"}, rules)
		former := &askedFormer{}
		listener := &Listener{
			Resolved: &ResolvedSet{Partitions: 1}, Issues: heard, Totals: heard, Rules: book, Alerts: heard, Outbox: outbox, Logger: logger,
			Continuation: &Continuation{Former: former, Totals: heard, Now: time.Now, Logger: logger},
		}
		sink := pipeline.NewSink(pipeline.SinkConfig{Store: shardStore{}, Outbox: outbox, Listeners: []pipeline.Listener{listener}, Logger: logger})
		store := func(block uint64, issues ...uint64) time.Duration {
			var rows []occurrence.Row
			for _, issue := range issues {
				row := occurrence.Row{EnvironmentNumber: 1, Issue: issue}
				row.Ts, row.ReceivedAt = time.Now(), time.Now()
				rows = append(rows, row)
			}
			heard.mu.Lock()
			heard.stored[block] = rows
			heard.mu.Unlock()
			began := time.Now()
			open := listener.Open()
			open.Saw(int64(block), &ingest.Rows{Occurrences: rows})
			if err := open.Stored(t.Context(), pipeline.NewStoredBlock(sink, 1, block, nil)); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		heard.stored[1] = []occurrence.Row{{EnvironmentNumber: 1, Issue: 5}} // an old one
		took := []time.Duration{store(2, 5, 6), store(3, 6, 6), store(4, 5, 7, 7), store(5, 5, 6, 7)}
		if want := []time.Duration{pipeline.AnswerTime, 0, 0, 0}; !slices.Equal(took, want) {
			t.Errorf("the blocks waited for %v, want %v", took, want)
		}
		heard.mu.Lock()
		clear(heard.deaf)
		heard.mu.Unlock()
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan struct{})
		go func() { defer close(ran); _ = outbox.Run(ctx) }()
		time.Sleep(5 * time.Second)
		if took := store(6, 8); took != 0 {
			t.Errorf("block 6 waited for %s", took)
		}
		cancel()
		<-ran
		if want := []uint64{2, 4, 6}; !slices.Equal(heard.news["shop"], want) || outbox.Len() != 0 {
			t.Errorf("the rules were told of new issues in the blocks %v, want %v; %d actors are waited for", heard.news["shop"], want, outbox.Len())
		}
	})
}
