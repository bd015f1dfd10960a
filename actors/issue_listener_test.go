package actors

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/actors/pipeline"
)

// hearing is a pair of applications' actors of which some do not answer.
type hearing struct {
	mu   sync.Mutex
	deaf map[string]bool
	news map[string][]uint64
	hits map[uint64]int
}

func (h *hearing) NewIssues(ctx context.Context, app svc.AppRef, news svc.NewIssues) error {
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

func (h *hearing) Regressed(context.Context, svc.AppRef, svc.Regressions) error { return nil }

func (h *hearing) noted(context.Context, uint64, []issueKey) error { return nil }

func (h *hearing) occurred(_ context.Context, _ uint64, issues []issueHits, _ func(uint64) bool) (_ []issueKey, late []untold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, issue := range issues {
		if h.deaf["issues"] {
			late = append(late, untold{issue, errors.New("deaf")})
		} else {
			h.hits[issue.issue]++
		}
	}
	return nil, late
}

func (h *hearing) IssueTotals(_ context.Context, environments, issues []uint64) (out []svc.IssueTotal, _ error) {
	for _, environment := range environments {
		for _, issue := range issues {
			if issue%10 == environment {
				out = append(out, svc.IssueTotal{Environment: environment, Issue: issue, Occurrences: 1, Name: "E"})
			}
		}
	}
	return out, nil
}

// keptNotes keeps entities.
type keptNotes struct {
	mu   sync.Mutex
	kept map[string]svc.Entity
}

func (k *keptNotes) Put(_ context.Context, entities []svc.Entity, _ []svc.Wakeup) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, entity := range entities {
		if key := entity.Owner + entity.ID; entity.Version.Number() > k.kept[key].Version.Number() {
			k.kept[key] = entity
		}
	}
	return nil
}

func (k *keptNotes) LoadKind(context.Context, string) (out []svc.Entity, _ error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, entity := range k.kept {
		if !entity.Deleted {
			out = append(out, entity)
		}
	}
	return out, nil
}

// TestADeafActorDelaysNobody has the alerting actor of one application and the actors of issues not
// answer. Blocks are committed all the same, and once the actors answer they are told of every block.
func TestADeafActorDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &hearing{deaf: map[string]bool{"broken": true, "issues": true}, news: map[string][]uint64{}, hits: map[uint64]int{}}
		notes := &keptNotes{kept: map[string]svc.Entity{}}
		logger := slog.New(slog.DiscardHandler)
		outbox := pipeline.NewOutbox(notes, logger)
		book := NewRulebook()
		for number, app := range []string{"whole", "broken"} {
			rules := worldRules()[:1]
			rules[0].Number = uint64(number)
			book.Publish(svc.Version{}, svc.AppRef{Org: "o", App: app}, rules)
		}
		watch := &Watch{Partitions: 1}
		watch.add(7)
		listener := &IssueListener{Watch: watch, Issues: heard, Totals: heard, Rules: book, Alarms: heard, Outbox: outbox, Logger: logger}
		sink := pipeline.NewSink(pipeline.SinkConfig{Store: &process{}, Outbox: outbox, Listeners: []pipeline.Listener{listener}, Logger: logger})
		for n := range uint64(5) {
			occurrences := []svc.OccurrenceRow{{EnvironmentNumber: 0, Issue: 100 + 10*n}, {EnvironmentNumber: 1, Issue: 101 + 10*n}, {EnvironmentNumber: 3, Issue: 7}}
			for i := range occurrences {
				occurrences[i].Ts, occurrences[i].ReceivedAt = time.Now(), time.Now()
			}
			began := time.Now()
			block := listener.Open()
			block.Saw(int64(n), &svc.Rows{Occurrences: occurrences})
			if err := block.Stored(t.Context(), pipeline.NewStoredBlock(sink, 1, 1+n, nil)); err != nil {
				t.Fatal(err)
			}
			took, bound := time.Since(began), 2*pipeline.AnswerTime
			if n > 0 {
				bound = pipeline.AnswerTime / 2 // nobody waits for an actor that is known not to answer
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
