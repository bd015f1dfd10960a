package issues

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/storage/clickhouse/clickhousetest"
)

// BenchmarkIssues reads lists and overviews over a million small occurrences of ten
// thousand issues within thirty days.
func BenchmarkIssues(b *testing.B) {
	const occurrences, kinds, perBlock = 1_000_000, 10_000, 50_000
	db := open(b)
	rng := rand.New(rand.NewPCG(5, 1))
	now := errorNow()
	block := db.NewBlock()
	for i := range occurrences {
		kind := int(rng.ExpFloat64()*kinds/8) % kinds
		at := now.Add(-time.Duration(rng.IntN(30*24*3600*1000)) * time.Millisecond)
		fingerprint := fmt.Sprintf("v1-%032d", kind)
		block.AppendOccurrence(&occurrence.Row{
			EnvironmentNumber: 7, Issue: occurrence.IssueNumber(7, fingerprint), Fingerprint: fingerprint, RetentionDays: 365, TagsJSON: []byte(`{"plan":"pro"}`),
			Occurrence: occurrence.Occurrence{
				ID: fmt.Sprintf("occ-%d", i), Ts: at, ReceivedAt: at, Level: occurrence.LevelError, Name: "TypeError", Message: fmt.Sprintf("order %d has no price", i),
				Culprit: fmt.Sprintf("f%d (/a.js)", kind), Release: fmt.Sprintf("1.%d.0", rng.IntN(20)), DistinctID: fmt.Sprintf("u%d", rng.IntN(50_000)),
			},
		})
		if block.Rows() == perBlock {
			insert(b, db, fmt.Sprint(i), uint64(i+1), block)
			block.Reset()
		}
	}
	days := issue.LastDays(now, issue.SparkDays, time.UTC)
	for _, sort := range issue.Sorts() {
		b.Run("list by "+string(sort), func(b *testing.B) {
			for b.Loop() {
				if _, err := db.Issues(deadline(b), issue.Query{Environment: clickhousetest.Production(), Sort: sort, Days: days, Now: now, Limit: 50, Status: issue.Open}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, key := range []string{"24h", "30d"} {
		b.Run("overview "+key, func(b *testing.B) {
			window, _ := domain.ParseWindow(key, now, time.UTC)
			for b.Loop() {
				if _, err := db.ErrorsOverview(deadline(b), issue.ErrorsQuery{Environment: clickhousetest.Production(), Window: window, Buckets: window.Buckets(domain.Day), Days: days, Now: now}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("one issue", func(b *testing.B) {
		scope := issue.Scope{Environment: clickhousetest.Production(), Number: occurrence.IssueNumber(7, fmt.Sprintf("v1-%032d", 1)), Days: issue.LastDays(now, issue.Days, time.UTC), Now: now}
		for b.Loop() {
			if _, err := db.Issue(deadline(b), scope); err != nil {
				b.Fatal(err)
			}
		}
	})
}
