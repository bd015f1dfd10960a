package ingest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/http/admission"
)

// places are processors in a counted number.
type places chan struct{}

func (p places) Take(ctx context.Context) error {
	select {
	case p <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p places) Give() { <-p }

// TestLongRequestsWaitForAProcessor occupies the only processor, as folding does. Long requests wait for it before they
// are decoded, and are refused if it stays busy; meanwhile short requests of others are answered. After every request
// its processor is free again.
func TestLongRequestsWaitForAProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		processors, control := make(places, 1), admission.New(256<<20)
		control.UseProcessors(processors)
		handler := admitting(t, discard{}, control, 2)
		send := func(key, body string) chan int {
			answered := make(chan int, 1)
			go func() {
				request := httptest.NewRequest(http.MethodPost, "/api/v1/batch", strings.NewReader(body))
				request.Header.Set("Authorization", "Bearer "+key)
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, request)
				answered <- answer.Code
			}()
			synctest.Wait()
			return answered
		}
		const item = `{"type":"event","name":"order","distinctId":"u"}`
		long := `{"items":[` + strings.Repeat(item+",", 600) + item + `]}`
		short := `{"items":[` + item + `]}`

		if err := processors.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		first, second := send("key0", long), send("key0", long)
		if calm := send("key1", short); len(calm) == 0 {
			t.Error("a short request waits behind long ones")
		} else if status := <-calm; status != 202 {
			t.Errorf("a short request: %d", status)
		}
		if len(first)+len(second) > 0 {
			t.Error("a long request took no processor")
		}
		processors.Give()
		if a, b := <-first, <-second; a != 202 || b != 202 {
			t.Errorf("once there was a processor: %d, %d", a, b)
		}
		for body, want := range map[string]int{long[:len(long)-1]: 400, strings.ReplaceAll(long, `"name":"order",`, ""): 400, long: 202} {
			if status := <-send("key0", body); status != want || len(processors) != 0 {
				t.Errorf("%d, want %d; %d processors were kept", status, want, len(processors))
			}
		}
		if err := processors.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		if status := <-send("key0", long); status != 503 {
			t.Errorf("a long request whose processor stayed busy: %d", status)
		}
		processors.Give()
		whole := control.Reserve("probe")
		defer whole.Release()
		began := time.Now()
		if err := whole.ForWork(t.Context(), 256<<20, true); err != nil || time.Since(began) > 0 {
			t.Errorf("a refused request left something behind: all of the budget is there after %s: %v", time.Since(began), err)
		}
	})
}
