package alerts

import (
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/monitor"
)

// BenchmarkChecks stores the checks of ten thousand monitors that are checked every second, batch after batch. It
// reports the cost of one batch for the process, including the merging of parts.
func BenchmarkChecks(b *testing.B) {
	const monitors = 10_000
	for _, size := range []int{5_000, 10_000, 20_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			db := open(b)
			w := &CheckWriter{Store: db.Store, Name: b.Name(), Logger: slog.New(slog.DiscardHandler)}
			app, at := domain.AppRef{Org: "acme", App: "web"}, time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)
			ids := make([]string, monitors)
			for n := range ids {
				ids[n] = fmt.Sprintf("mon_%026d", n)
			}
			before, made := cpuTime(b), 0
			for number := 0; b.Loop(); number++ {
				batch := make([]monitor.Check, 0, size)
				for range size {
					at := at.Add(time.Duration(made) * time.Second / monitors)
					state := monitor.State{LastStatus: monitor.StatusUp, LastCheckedAt: at, LastLatencyMs: 1}
					result := monitor.CheckResult{At: at, StatusCode: 200, Phases: monitor.CheckPhases{FirstByte: 300 + uint32(made%97), Total: 320 + uint32(made%101)}}
					batch = append(batch, monitor.Check{App: app, Monitor: ids[made*7919%monitors], Result: result, State: state})
					made++
				}
				if err := w.write(b.Context(), batch, number); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(made)/1000, "cpu-µs/check")
		})
	}
}

// cpuTime returns the CPU time of the process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
