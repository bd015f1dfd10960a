package database_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"svc/domain"
	"svc/storage/clickhouse"
)

func TestReadErrors(t *testing.T) {
	db := open(t)
	if err := db.Read(deadline(t), "x", "SELECT sleep(1) SETTINGS max_execution_time = 0.1", nil, nil); domain.CodeOf(err) != domain.CodeQueryTimeout {
		t.Errorf("a query over its time fails with %v", err)
	}
	if err := db.Read(deadline(t), "x", "SELECT groupArray(number) FROM numbers(100000000) SETTINGS max_memory_usage = 1000000", nil, nil); domain.CodeOf(err) != domain.CodeQueryTimeout {
		t.Errorf("a query over its memory fails with %v", err)
	}
	gone, err := clickhouse.Open(deadline(t), clickhouse.Config{DSN: "http://127.0.0.1:1/"})
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("opening a store that does not answer fails with %v, %v", gone, err)
	}
}

// TestQuestionsHoldUpNoWrites runs more user queries than there are connections; none ends before it is cancelled.
// Meanwhile the writes and internal reads of the service continue.
func TestQuestionsHoldUpNoWrites(t *testing.T) {
	db := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	const questions = 2 * clickhouse.MaxConnections
	asked, ended := make(chan struct{}, questions), make(chan error, questions)
	for range questions {
		go func() {
			asked <- struct{}{}
			ended <- db.Read(ctx, "x", "SELECT count() FROM numbers(100000) WHERE sleepEachRow(0.5) = 0 SETTINGS max_block_size = 1", nil, nil)
		}()
	}
	for range questions {
		<-asked
	}
	for db.Questions() < clickhouse.QuestionPlaces {
		runtime.Gosched()
	}
	bounded, stop := context.WithTimeout(t.Context(), clickhouse.QueryTime/2)
	defer stop()
	for n := range 3 {
		entity := domain.Entity{Owner: "o", Kind: "k", ID: "i", Version: domain.Version{Generation: 1, Sequence: uint32(n) + 1}, Payload: []byte("x")}
		if err := db.Put(bounded, []domain.Entity{entity}, nil, domain.Trail{}); err != nil {
			t.Fatal(err)
		}
		if owned, err := db.Load(bounded, "o"); err != nil || len(owned) != 1 || owned[0].Version != entity.Version {
			t.Fatalf("%+v, %v", owned, err)
		}
		if err := db.Insert(bounded, fmt.Sprintf("t%d", n), uint64(n+1), hourly(t, db, time.Now(), 10)); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for range questions {
		if err := <-ended; err == nil {
			t.Error("a question ended before it was cancelled")
		}
	}
}
