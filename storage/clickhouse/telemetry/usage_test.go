package telemetry

import (
	"fmt"
	"testing"
	"time"

	"svc/domain/ingest"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

// count stores counts of the 30 days before a time in a number of environments: each signal with three fates, and four
// codes of invalid items. parts is the number of inserts, like the inserts of blocks.
func count(t testing.TB, conn *clickhouse.Conn, environments, parts int, now time.Time) {
	t.Helper()
	for range parts {
		clickhousetest.Exec(t, conn, fmt.Sprintf(`INSERT INTO usage (environment, day, signal, fate, code, items, bytes, last, expires)
			SELECT number %% %d, toDate('%s') - intDiv(number, %d) %% 30, ['events', 'errors', 'metricPoints', 'flagEvaluations'][intDiv(number, %d) %% 4 + 1] AS signal,
				['stored', 'duplicate', 'invalid', 'invalid', 'invalid', 'invalid'][intDiv(number, %d) %% 6 + 1] AS fate,
				if(fate = 'invalid', concat('code', toString(intDiv(number, %d) %% 4)), ''), 1, 100, toDateTime64('%s', 3, 'UTC'), '2100-01-01'
			FROM numbers(%d)`, environments, now.Format(time.DateOnly), environments, environments*30, environments*120, environments*120, now.Format("2006-01-02 15:04:05"), environments*720))
	}
}

// TestUsageAddsUpWhatIsNotMerged reads the counts of one environment that arrived in several inserts.
func TestUsageAddsUpWhatIsNotMerged(t *testing.T) {
	store, conn := open(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	count(t, conn, 3, 4, now)
	counts, err := store.Usage(t.Context(), 2, now.AddDate(0, 0, -9))
	if err != nil {
		t.Fatal(err)
	}
	days := ingest.NewUsageDays(now, ingest.UsageDays)
	ingest.AddUsage(days, counts)
	for n := range days {
		for _, signal := range ingest.Signals() {
			want := int64(0)
			if n >= len(days)-10 {
				want = 4
			}
			got := days[n].Signals[signal]
			if got.Stored != want || got.Duplicates != want || got.Dropped[ingest.FateInvalid] != 4*want || got.Received() != 6*want || got.Bytes != 600*want {
				t.Errorf("%s of %s: %+v", signal, days[n].Date, got)
			}
		}
	}
}

// BenchmarkUsage reads 30 days of one of a hundred environments.
func BenchmarkUsage(b *testing.B) {
	store, conn := open(b)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	count(b, conn, 100, 10, now)
	for n := 0; b.Loop(); n++ {
		if counts, err := store.Usage(b.Context(), uint64(n%100), now.AddDate(0, 0, -29)); err != nil || len(counts) != 30*4*6 {
			b.Fatal(len(counts), err)
		}
	}
}
