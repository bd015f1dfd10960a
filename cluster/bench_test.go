package cluster

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/protos"
)

// BenchmarkRemoteCall calls a node in another process 1,000 times a second and reports the latency of an answer.
func BenchmarkRemoteCall(b *testing.B) {
	logger := slog.New(slog.DiscardHandler)
	wire, err := OpenRemote(RemoteConfig{Addr: "127.0.0.1:0", Secret: wireSecret, Logger: logger})
	if err != nil {
		b.Fatal(err)
	}
	defer wire.Close()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childSecret+"="+wireSecret)
	stdin, _ := cmd.StdinPipe()
	stdout, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = stdin.Close(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(io.Reader(stdout)).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	address := strings.TrimSpace(line)
	payload := make([]byte, 300)
	var mu sync.Mutex
	var times []time.Duration
	var all sync.WaitGroup
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for b.Loop() {
		<-pace.C
		all.Go(func() {
			began := time.Now()
			_, err := wire.Call(context.Background(), address, &protos.Call{Kind: "k", Identity: "me", Method: "echo", Payload: payload})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				b.Error(err)
			}
			times = append(times, time.Since(began))
		})
	}
	all.Wait()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
}
