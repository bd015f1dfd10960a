package flags

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/domain/flag"
)

// exposed counts the outcomes that it receives. It refuses to record them while it is full.
type exposed struct {
	recorded

	full bool
	told int
}

func (e *exposed) Expose(_, _ uint64, outcomes []*flag.Outcome, _ time.Time) (noted bool) {
	e.told += len(outcomes)
	return !e.full
}

// TestWhoAsksAgainHasTheSameAnswer requests many flags again and again by each protocol. The answers are the same while
// the flags are, and are sent to be recorded until they are recorded.
func TestWhoAsksAgainHasTheSameAnswer(t *testing.T) {
	t.Parallel()
	specs := many(80, 2)
	definitions := &defined{archived: "flag-7"}
	definitions.define(t, specs)
	exposures := &exposed{full: true}
	handler := servingWith(t, definitions, nil, exposures, time.Now)
	for _, protocol := range []struct {
		path, body string
		flags      int
	}{
		{"/api/v1/flags/evaluate", `{"distinctId":"u1","context":{"plan":"free"}}`, 80},
		{"/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"u1","plan":"free"}}`, 79},
		{"/flags", `{"token":"public","distinct_id":"u1","person_properties":{"plan":"free"}}`, 79},
	} {
		ask := func(full bool) (answer string, told int) {
			exposures.full, exposures.told = full, 0
			request := httptest.NewRequest(http.MethodPost, protocol.path, strings.NewReader(protocol.body))
			request.Header.Set("Authorization", "Bearer public")
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			if recorder.Code != http.StatusOK {
				t.Fatalf("%s answers %d: %s", protocol.path, recorder.Code, recorder.Body)
			}
			body, _ := io.ReadAll(recorder.Body)
			answer, _, _ = strings.Cut(string(body), `"requestId":`)
			answer, _, _ = strings.Cut(answer, `"eventStreams":`)
			return answer, exposures.told
		}
		var told []int
		first := ""
		for n, full := range []bool{true, true, true, false, false} {
			answer, count := ask(full)
			told = append(told, count)
			if n == 0 {
				first = answer
			}
			if answer != first || !strings.Contains(answer, `"flag-79"`) || strings.Contains(answer, `"flag-7"`) != (protocol.flags == 80) {
				t.Errorf("%s answers %s, want %s", protocol.path, answer, first)
			}
		}
		if got, want := fmt.Sprint(told), fmt.Sprint([]int{protocol.flags, protocol.flags, protocol.flags, protocol.flags, 0}); got != want {
			t.Errorf("%s told of %v outcomes, want %v", protocol.path, got, want)
		}
		definitions.define(t, specs)
		if answer, told := ask(false); answer == first || told != protocol.flags {
			t.Errorf("%s answers the same at another revision, and told of %d outcomes", protocol.path, told)
		}
	}
}
