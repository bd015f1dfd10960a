package flags

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"svc/domain"
)

// sink is a response writer that stores only the status.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(status int)      { s.status = status }

// requests are the requests of each protocol for one flag, and for all.
func requests() map[string]struct{ path, body string } {
	return map[string]struct{ path, body string }{
		"native": {"/api/v1/flags/evaluate", `{"distinctId":"user-00001234","context":{"plan":"free","country":"FR"},"keys":["flag-0"]}`},
		"ofrep":  {"/ofrep/v1/evaluate/flags/flag-0", `{"context":{"targetingKey":"user-00001234","plan":"free","country":"FR"}}`},
		"twenty": {"/api/v1/flags/evaluate", `{"distinctId":"user-00001234","context":{"plan":"free","country":"FR"},"keys":["` + strings.Join(keysOf(20), `","`) + `"]}`},
		"all":    {"/api/v1/flags/evaluate", `{"distinctId":"user-00001234","context":{"plan":"free","country":"FR"}}`},
	}
}

// keysOf returns the keys of the first flags of many.
func keysOf(flags int) []string {
	keys := make([]string, flags)
	for n := range keys {
		keys[n] = fmt.Sprintf("flag-%d", n)
	}
	return keys
}

// bare answers like a flag without any evaluation: the cost of any handler.
func bare(answer []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
}

// BenchmarkHandler measures a request inside the process: one flag by each protocol, all of 20 flags, and 20 and all of
// 1,000 flags with five rules each. The goal of three times the CPU of 20 flags is about an application with 1,000
// flags and a client that requests the 20 flags that it shows (compare 20of1000 with 20).
//
// All of 1,000 are 50 times the work, and their answer has 50 times the bytes. The comparison of 1000 with 20 shows the
// cost of each further flag, for a returning visitor (1000/again) and for a new visitor each time (1000/new).
func BenchmarkHandler(b *testing.B) {
	for _, of := range []struct {
		name, request string
		flags, rules  int
	}{{"one/native", "native", 20, 4}, {"one/ofrep", "ofrep", 20, 4}, {"20", "all", 20, 4}, {"20of1000", "twenty", 1000, 5}, {"1000/again", "all", 1000, 5}, {"1000/new", "all", 1000, 5}} {
		b.Run(of.name, func(b *testing.B) {
			definitions := &defined{}
			definitions.define(b, many(of.flags, of.rules))
			handler, asked := serving(b, definitions), requests()[of.request]
			body, answer := strings.NewReader(asked.body), sink{header: http.Header{}}
			request := httptest.NewRequest(http.MethodPost, asked.path, nil)
			request.Header.Set("Authorization", "Bearer public")
			request.Body, request.ContentLength = io.NopCloser(body), int64(len(asked.body))
			ask := func(text string) {
				body.Reset(text)
				clear(answer.header)
				handler.ServeHTTP(&answer, request)
			}
			person := func(n int) string { return strings.Replace(asked.body, "00001234", fmt.Sprintf("%08d", n), 1) }
			var again []string
			for n := range 5000 { // This is the number in bench/flags.
				again = append(again, person(n))
			}
			if of.name == "1000/again" {
				for n := range 3 * len(again) {
					ask(again[n%len(again)])
					ask(again[n%len(again)])
				}
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				switch of.name {
				case "1000/new":
					ask(person(n))
				case "1000/again":
					ask(again[n%len(again)])
				default:
					ask(asked.body)
				}
			}
			if answer.status != http.StatusOK {
				b.Fatalf("the answer is %d", answer.status)
			}
		})
	}
}

// BenchmarkOverHTTP measures one flag over connections, and a handler that does nothing on the same server with the
// same client: the difference is the cost of the evaluation.
func BenchmarkOverHTTP(b *testing.B) {
	definitions := &defined{}
	definitions.define(b, many(20, 4))
	handler := serving(b, definitions)
	for _, name := range []string{"bare", "native", "ofrep"} {
		asked, served := requests()["native"], bare([]byte(`{"flags":{"flag-0":{"enabled":true,"variant":"control","value":"control","reason":"rule","ruleId":"r3"}},"revision":20,"environment":"production"}`))
		if name != "bare" {
			asked, served = requests()[name], handler
		}
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(served)
			defer server.Close()
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			defer client.CloseIdleConnections()
			b.SetParallelism(64 / runtime.GOMAXPROCS(0))
			b.RunParallel(func(loop *testing.PB) {
				for loop.Next() {
					request, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL+asked.path, strings.NewReader(asked.body))
					request.Header.Set("Authorization", "Bearer public")
					response, err := client.Do(request)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			})
		})
	}
}

// BenchmarkSubscribers opens streams over real connections and sends a change to all of them. It measures the memory of
// one stream, and the time until the last one has received the change. The clients are in the same process and hold a
// bare connection each.
func BenchmarkSubscribers(b *testing.B) {
	const subscribers = 1000
	definitions := &defined{}
	definitions.define(b, many(20, 4))
	server := httptest.NewServer(serving(b, definitions))
	defer server.Close()
	before := inUse()
	clients := make([]net.Conn, subscribers)
	for n := range clients {
		client, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		fmt.Fprintf(client, "GET /api/v1/flags/stream?key=public HTTP/1.1\r\nHost: svc\r\nLast-Event-Id: 20\r\n\r\n")
		hears(b, client, ": connected")
		clients[n] = client
	}
	each := float64(inUse()-before) / subscribers
	for b.Loop() {
		definitions.define(b, many(20, 4))
		want := fmt.Sprintf(`"revision":%d`, definitions.Set(domain.AppRef{}, "").Revision)
		for _, client := range clients {
			hears(b, client, want)
		}
	}
	b.ReportMetric(each, "B/subscriber")
}

// BenchmarkDefine compiles the flags of an application, as every node does after a change, and reports their memory.
func BenchmarkDefine(b *testing.B) {
	specs := many(1000, 5)
	definitions := &defined{}
	before := inUse()
	definitions.define(b, specs)
	held := float64(inUse() - before)
	for b.Loop() {
		definitions.define(b, specs)
	}
	b.ReportMetric(held, "B/application")
}

// hears reads from a client until it has received a text.
func hears(b *testing.B, client net.Conn, want string) {
	_ = client.SetReadDeadline(time.Now().Add(time.Minute))
	var seen strings.Builder
	for piece := make([]byte, 1024); !strings.Contains(seen.String(), want); {
		n, err := client.Read(piece)
		if err != nil {
			b.Fatal(err)
		}
		seen.Write(piece[:n])
	}
}

// inUse returns the memory in the heap and stacks of the process.
func inUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}
