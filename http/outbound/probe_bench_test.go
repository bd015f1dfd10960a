package outbound

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/monitor"
)

// BenchmarkCheck compares the processor time of a check over the probe's own exchange with one over the transport of
// net/http. Both include the time of the target.
func BenchmarkCheck(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("x", 240))) }))
	b.Cleanup(server.Close)
	targets, err := domain.ParseAllow("127.0.0.1")
	if err != nil {
		b.Fatal(err)
	}
	spec := monitor.DefaultMonitor()
	spec.URL, spec.BodyMatch = server.URL+"/", "xxx"
	dialer := NewDialer(targets)
	for name, trip := range map[string]http.RoundTripper{"plain": newExchanger(dialer, time.Now), "transport": dialer.transport()} {
		b.Run(name, func(b *testing.B) {
			probe := NewProbe(dialer, "https://svc.example", time.Now)
			probe.plain = trip
			b.ReportAllocs()
			b.SetParallelism(32)
			before := cpuTime(b)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if got := probe.Check(b.Context(), spec); got.Error != "" {
						b.Error(got.Error)
					}
				}
			})
			b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(b.N)/1000, "cpu-µs/check")
		})
	}
}

// cpuTime returns the processor time of the process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
