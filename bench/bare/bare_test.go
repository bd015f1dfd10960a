package bare

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"svc/bench/harness"
)

func TestHandlersTakeTheReferenceEvent(t *testing.T) {
	generator := harness.NewGenerator(1, 1)
	for role, body := range map[string][]byte{
		Read: []byte("anything"), Single: generator.AppendEvent(nil, time.Now()), Batch: generator.AppendBatch(nil, 100, time.Now()),
	} {
		handler, err := handlerOf(role)
		if err != nil {
			t.Fatal(err)
		}
		answer := httptest.NewRecorder()
		handler(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body)), nil)
		if answer.Code != http.StatusAccepted {
			t.Errorf("%s answered %d", role, answer.Code)
		}
		answer = httptest.NewRecorder()
		handler(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader([]byte("{"))), nil)
		if role != Read && answer.Code != http.StatusBadRequest {
			t.Errorf("%s answered %d to half a body", role, answer.Code)
		}
	}
	if _, err := handlerOf("other"); err == nil {
		t.Error("an unknown handler was found")
	}
}

func TestColumnsEncodeTheSameRowsAlike(t *testing.T) {
	rows, block := finishedRows()[:100], newColumns()
	if err := block.fill(rows); err != nil {
		t.Fatal(err)
	}
	first := bytes.Clone(block.buffer.Buf)
	if err := block.fill(rows); err != nil {
		t.Fatal(err)
	}
	if len(first) == 0 || !bytes.Equal(first, block.buffer.Buf) {
		t.Errorf("%d bytes, then %d", len(first), len(block.buffer.Buf))
	}
}
