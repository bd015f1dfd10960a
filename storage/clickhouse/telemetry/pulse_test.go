package telemetry

import (
	"fmt"
	"testing"
	"time"

	"svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

// arrive stores counts of one fate with last arrivals at the given times, like blocks do.
func arrive(t testing.TB, conn *clickhouse.Conn, environment uint64, signal ingest.Signal, fate ingest.Fate, at ...time.Time) {
	t.Helper()
	for _, one := range at {
		clickhousetest.Exec(t, conn, fmt.Sprintf(`INSERT INTO usage (environment, day, signal, fate, code, items, bytes, last, expires)
			VALUES (%d, '%s', '%s', '%s', '', 1, 100, '%s', '2100-01-01')`, environment, one.Format(time.DateOnly), signal, fate, one.Format("2006-01-02 15:04:05.000")))
	}
}

// TestPulses finds the pauses between arrivals, before and after the parts are merged.
func TestPulses(t *testing.T) {
	store, conn := open(t)
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return day.Add(time.Duration(minutes)*time.Minute + 7*time.Second) }
	arrive(t, conn, 1, ingest.SignalEvents, ingest.FateStored, at(10), at(11), at(11), at(1439), at(1441), at(1445))
	arrive(t, conn, 1, ingest.SignalEvents, ingest.FateSampled, at(20))
	arrive(t, conn, 1, ingest.SignalEvents, ingest.FateBadKey, at(1500))
	arrive(t, conn, 1, ingest.SignalErrors, ingest.FateClientSide, at(5))
	arrive(t, conn, 2, ingest.SignalMetrics, ingest.FateStored, at(3))
	want := telemetry.SignalPulse{First: day.Add(10 * time.Minute), Last: at(1445), Minutes: 6, Longest: 1419 * time.Minute, Second: 9 * time.Minute}
	for _, merged := range []bool{false, true} {
		if merged {
			clickhousetest.Exec(t, conn, "OPTIMIZE TABLE usage FINAL")
		}
		got, err := store.Pulses(t.Context(), []uint64{1, 2, 3}, day.AddDate(0, 0, -14))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || len(got[1]) != 1 || got[1][ingest.SignalEvents] != want || got[2][ingest.SignalMetrics].Minutes != 1 || got[2][ingest.SignalMetrics].Longest != 0 {
			t.Errorf("merged %t: %+v", merged, got)
		}
	}
}
