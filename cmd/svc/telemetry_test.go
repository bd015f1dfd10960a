package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/protos"
)

const telemetryPath = appPath + "/telemetry"

// fate is an outcome of a signal's items.
type fate struct {
	signal ingest.Signal
	fate   ingest.Fate
}

// teller sends random items of all signals, and records the answers.
type teller struct {
	*server
	rng *rand.Rand
	n   int
	// sure are the fates of items with an answered request, unsure the fates of requests that a kill interrupted. Items
	// without an answer are sent again with their ids until there is one.
	sure, unsure map[fate]int
	// over are items without an answer that were refused for the budget when they were sent again: the first request
	// may have stored them.
	over map[fate]int
	// rate is the share of visitors that the policy stores.
	rate float64
	// environment is the number of the environment.
	environment uint64
}

func newTeller(s *server, seed uint64) *teller {
	return &teller{server: s, rng: rand.New(rand.NewPCG(seed, seed)), sure: map[fate]int{}, unsure: map[fate]int{}, over: map[fate]int{}, rate: 1}
}

// post sends a body and returns status 0 if the connection broke.
func (b *teller) post(path, key string, body []byte) (int, []byte) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, b.boot.URL+path, bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil
	}
	return response.StatusCode, content
}

// item makes an item of a signal and returns its expected fate.
func (b *teller) item() (item map[string]any, want fate) {
	b.n++
	id, visitor := fmt.Sprint("id-", b.n), fmt.Sprint("visitor-", b.rng.IntN(40))
	kept := ingest.FateStored
	if !telemetry.InSample(protos.VisitorHash(b.environment, visitor), b.rate) {
		kept = ingest.FateSampled
	}
	switch b.rng.IntN(9) {
	case 0, 1, 2:
		return map[string]any{"type": "event", "id": id, "name": "order", "distinctId": visitor}, fate{ingest.SignalEvents, kept}
	case 3:
		return map[string]any{"type": "event", "id": id, "distinctId": visitor}, fate{ingest.SignalEvents, ingest.FateInvalid}
	case 4:
		return map[string]any{"type": "event", "id": id, "name": "order", "distinctId": visitor, "ts": "2019-01-01T00:00:00Z"}, fate{ingest.SignalEvents, ingest.FateTooOld}
	case 5:
		return map[string]any{"type": "error", "id": id, "name": "TypeError", "message": "x", "distinctId": visitor}, fate{ingest.SignalErrors, ingest.FateStored}
	case 6:
		return map[string]any{"type": "error", "id": id, "distinctId": visitor}, fate{ingest.SignalErrors, ingest.FateInvalid}
	case 7:
		return map[string]any{"type": "metric", "id": id, "name": "load", "kind": "gauge", "value": 1}, fate{ingest.SignalMetrics, ingest.FateStored}
	}
	return map[string]any{"type": "metric", "id": id, "name": "load", "kind": "gauge"}, fate{ingest.SignalMetrics, ingest.FateInvalid}
}

// batch sends some items, some of them twice, until they are answered. It calls broken if the connection broke.
func (b *teller) batch(broken func()) {
	var items []map[string]any
	var wants []fate
	for range 1 + b.rng.IntN(8) {
		item, want := b.item()
		items, wants = append(items, item), append(wants, want)
		if want.fate == ingest.FateStored && b.rng.IntN(5) == 0 {
			items, wants = append(items, item), append(wants, fate{want.signal, ingest.FateDuplicate})
		}
	}
	body, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		b.t.Fatal(err)
	}
	for first := true; ; first = false {
		status, answer := b.post("/api/v1/batch", b.boot.Keys["production"].Secret, body)
		switch status {
		case 202, 400:
			b.answered(wants, answer, !first)
			return
		case 0, 503:
			for _, want := range wants {
				if b.unsure[want]++; want.fate == ingest.FateStored {
					b.unsure[fate{want.signal, ingest.FateDuplicate}]++
				}
				if want.signal == ingest.SignalErrors {
					b.unsure[fate{want.signal, ingest.FateBudget}]++
				}
			}
			if status == 0 {
				broken()
			}
			time.Sleep(20 * time.Millisecond)
		default:
			b.t.Fatalf("%d %s (first %t)", status, answer, first)
		}
	}
}

// answered records an answer: the expected fates, except for items beyond the budget, which the answer names.
func (b *teller) answered(wants []fate, answer []byte, again bool) {
	var told struct {
		Rejected []struct {
			Index int
			Code  string
		}
	}
	if err := json.Unmarshal(answer, &told); err != nil {
		b.t.Fatalf("the answer is %s", answer)
	}
	over := map[int]bool{}
	for _, one := range told.Rejected {
		over[one.Index] = one.Code == ingest.CodeOverBudget
	}
	for n, want := range wants {
		if !over[n] {
			b.sure[want]++
			continue
		}
		b.sure[fate{want.signal, ingest.FateBudget}]++
		if again {
			b.over[fate{want.signal, ingest.FateStored}]++
		}
	}
}

// evaluate evaluates a flag for a visitor. An evaluation is counted in memory until it is stored, so before a kill only
// counted evaluations are certain.
func (b *teller) evaluate(lasting bool) {
	visitor := fmt.Sprint("visitor-", b.rng.IntN(40))
	status, answer := b.post("/api/v1/flags/evaluate", b.boot.Keys["production"].Secret, []byte(`{"distinctId":"`+visitor+`"}`))
	want := fateOf(ingest.FateStored)
	if !telemetry.InSample(protos.VisitorHash(b.environment, visitor), b.rate) {
		want.fate = ingest.FateSampled
	}
	switch {
	case status != 200 && status != 0:
		b.t.Fatalf("evaluating: %d %s", status, answer)
	case status == 200 && lasting:
		b.sure[want]++
	default:
		b.unsure[want]++
	}
}

// usage reads the counts of all days of production, by signal and fate.
func (b *teller) usage() map[fate]int {
	got := map[fate]int{}
	for _, day := range b.get(telemetryPath)["usage"].([]any) {
		for signal, one := range day.(map[string]any)["signals"].(map[string]any) {
			row := one.(map[string]any)
			sum := row["stored"].(float64) + row["duplicates"].(float64)
			got[fate{ingest.Signal(signal), ingest.FateStored}] += int(row["stored"].(float64))
			got[fate{ingest.Signal(signal), ingest.FateDuplicate}] += int(row["duplicates"].(float64))
			for reason, items := range row["dropped"].(map[string]any) {
				got[fate{ingest.Signal(signal), ingest.Fate(reason)}] += int(items.(float64))
				sum += items.(float64)
			}
			if sum != row["received"] {
				b.t.Errorf("%s of %v: received %v, the fates add up to %v", signal, day.(map[string]any)["date"], row["received"], sum)
			}
		}
	}
	return got
}

// check compares the counts with the record: answered items count once, items of interrupted requests once or not at
// all.
func (b *teller) check() {
	b.t.Helper()
	b.settled()
	got := b.usage()
	for _, signal := range ingest.Signals() {
		for _, one := range ingest.Fates() {
			key := fate{signal, one}
			if least, most := b.sure[key], b.sure[key]+b.unsure[key]; got[key] < least || got[key] > most {
				b.t.Errorf("%s %s: %d are counted, %d to %d were sent", signal, one, got[key], least, most)
			}
		}
	}
	for _, signal := range []ingest.Signal{ingest.SignalEvents, ingest.SignalErrors, ingest.SignalMetrics} {
		if key := (fate{signal, ingest.FateStored}); got[key] < b.sure[key] || got[key] > b.sure[key]+b.over[key] {
			b.t.Errorf("%s: %d are stored, %d were accepted", signal, got[key], b.sure[key])
		}
	}
}

// policy changes the policy of production.
func (b *teller) policy(change string) {
	b.t.Helper()
	revision := b.get(telemetryPath)["revision"]
	body := fmt.Sprintf(`{"expectedRevision":%v,"policy":%s}`, revision, change)
	if got := b.call("POST", telemetryPath, b.boot.Token, []byte(body), nil); got.status != 200 {
		b.t.Fatalf("changing the policy to %s: %d %s", change, got.status, got.body)
	}
}

// TestTelemetryAddsUp compares usage with the answers, under several policies and across a restart.
func TestTelemetryAddsUp(t *testing.T) {
	dir := t.TempDir()
	b := newTeller(startServer(t, dir, nil), 1)
	b.environment = b.production()
	many := func() {
		for range 40 {
			b.batch(func() { t.Fatal("the connection broke") })
		}
	}
	many()
	b.check()
	b.policy(`{"events":{"sampleRate":0.5}}`)
	b.rate = 0.5
	many()
	b.check()
	if sampled := b.get(telemetryPath)["sampled"].(map[string]any); sampled["rate"] != 0.5 || sampled["since"] == nil {
		t.Errorf("the answer says of the sample %v", sampled)
	}
	for _, read := range []string{"analytics/overview", "analytics/timeseries", "analytics/breakdown?dimension=path", "analytics/live", "analytics/retention", "events/names"} {
		if sampled, _ := b.get(appPath + "/" + read)["sampled"].(map[string]any); sampled["rate"] != 0.5 || sampled["since"] == nil {
			t.Errorf("%s says of the sample %v", read, sampled)
		}
	}
	b.policy(`{"events":{"sampleRate":1,"enabled":false}}`)
	if sampled, said := b.get(appPath + "/analytics/overview")["sampled"]; said {
		t.Errorf("an overview of all visitors says of a sample %v", sampled)
	}
	b.rate = 1
	status, body := b.post("/api/v1/events", b.boot.Keys["production"].Secret, []byte(`{"name":"order","distinctId":"u"}`))
	if b.sure[fate{ingest.SignalEvents, ingest.FateDisabled}]++; status != 400 || !strings.Contains(string(body), "signal_off") {
		t.Errorf("an event of a signal that is off: %d %s", status, body)
	}
	b.policy(`{"events":{"enabled":true,"dropBots":true}}`)
	crawler := `{"name":"page","distinctId":"crawler","context":{"userAgent":"Googlebot/2.1 (+http://www.google.com/bot.html)"}}`
	if status, body := b.post("/api/v1/events", b.boot.Keys["production"].Secret, []byte(crawler)); status != 202 {
		t.Errorf("a bot: %d %s", status, body)
	}
	b.sure[fate{ingest.SignalEvents, ingest.FateBot}]++
	if status, _ := b.post("/api/v1/events", b.boot.Keys["production"].Secret, []byte(`{"name":`)); status != 400 {
		t.Errorf("a broken body: %d", status)
	}
	b.sure[fate{ingest.SignalEvents, ingest.FateInvalid}]++
	b.check()
	b.stopped()
	b.server = startServer(t, dir, nil)
	if got := b.get(telemetryPath)["policy"].(map[string]any)["events"].(map[string]any)["dropBots"]; got != true {
		t.Errorf("after a restart dropBots is %v", got)
	}
	many()
	b.check()
}

// TestTelemetryAddsUpThroughKills kills the server repeatedly while items of all signals arrive. The policy stores half
// of the visitors and has used up the budget of errors.
func TestTelemetryAddsUpThroughKills(t *testing.T) {
	dir := t.TempDir()
	b := newTeller(startServer(t, dir, nil), 2)
	b.environment = b.production()
	b.putFlag("nav", fmt.Sprintf(navFlag, true))
	b.overErrors()
	b.policy(`{"events":{"sampleRate":0.5},"flags":{"sampleRate":0.5}}`)
	b.rate = 0.5
	b.stopped()
	b.server = startChild(t, dir, nil)
	restarts := 0
	broken := func() {
		b.stopped()
		b.server = startChild(t, dir, nil)
		restarts++
	}
	for restarts < 3 {
		b.stopped = sync.OnceFunc(b.stopped)
		time.AfterFunc(time.Duration(100+b.rng.IntN(400))*time.Millisecond, b.stopped)
		for before := restarts; restarts == before; {
			b.batch(broken)
			b.evaluate(false)
		}
	}
	b.stopped()
	b.server = startServer(t, dir, nil)
	for range 60 {
		b.batch(func() { t.Fatal("the connection broke") })
		b.evaluate(true)
	}
	eventually(t, "the latest evaluations are counted", func() error {
		got := b.usage()
		for _, key := range []fate{fateOf(ingest.FateStored), fateOf(ingest.FateSampled)} {
			if got[key] < b.sure[key] {
				return fmt.Errorf("%v: %d of %d", key, got[key], b.sure[key])
			}
		}
		return nil
	})
	b.check()
	for _, key := range []fate{{ingest.SignalEvents, ingest.FateSampled}, {ingest.SignalErrors, ingest.FateBudget}, fateOf(ingest.FateSampled)} {
		if b.sure[key] == 0 {
			t.Errorf("no %s were %s", key.signal, key.fate)
		}
	}
}

// production returns the number of the environment.
func (b *teller) production() uint64 {
	b.t.Helper()
	for _, environment := range b.node.collectors.Applications()[0].Environments {
		if environment.Slug == "production" {
			return environment.Number
		}
	}
	b.t.Fatal("there is no production")
	return 0
}

// overErrors uses up the budget of errors. Beyond it, errors are rejected except for the first ones of an issue.
func (b *teller) overErrors() {
	b.t.Helper()
	b.policy(`{"errors":{"monthlyBudget":1},"overBudget":"drop"}`)
	for n := range 3 {
		b.send(map[string]any{"type": "error", "id": fmt.Sprint("over-", n), "name": "TypeError", "message": "x", "distinctId": "u"})
		b.sure[fate{ingest.SignalErrors, ingest.FateStored}]++
	}
	b.settled()
	eventually(b.t, "the budget is used up", func() error {
		budget := b.get(telemetryPath)["budgets"].([]any)[0].(map[string]any)
		if budget["overSince"] == nil {
			return fmt.Errorf("%v", budget)
		}
		return nil
	})
}
