package chdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

// post sends a raw request to the test engine.
func post(t *testing.T, ctx context.Context, arguments url.Values, header http.Header, body io.Reader) (status int, text string, err error) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		return testEngine.DialContext(ctx, addr)
	}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://chdb/?"+arguments.Encode(), body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	response, err := transport.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func TestCompressedAndForeignRequestsAreRefused(t *testing.T) {
	for name, r := range map[string]struct {
		arguments url.Values
		header    http.Header
		want      string
	}{
		"gzip body":       {nil, http.Header{"Content-Encoding": {"gzip"}}, "compression \"gzip\" is not supported"},
		"block compress":  {url.Values{"compress": {"1"}}, http.Header{}, "compression is not supported"},
		"block expand":    {url.Values{"decompress": {"1"}}, http.Header{}, "compression is not supported"},
		"session":         {url.Values{"session_id": {"s"}}, http.Header{}, "session_id is not supported"},
		"external table":  {nil, http.Header{"Content-Type": {"multipart/form-data; boundary=x"}}, "external tables are not supported"},
		"setting as text": {url.Values{"a = 1, b": {"2"}}, http.Header{}, "is not the name of a setting"},
	} {
		t.Run(name, func(t *testing.T) {
			status, text, err := post(t, deadline(t), r.arguments, r.header, strings.NewReader("SELECT 1"))
			if err != nil || status < 400 || !strings.HasPrefix(text, "Code: ") || !strings.Contains(text, r.want) {
				t.Errorf("got %d %q %v, want an exception with %q", status, text, err, r.want)
			}
		})
	}
	for _, method := range []clickhouse.CompressionMethod{clickhouse.CompressionLZ4, clickhouse.CompressionZSTD} {
		c, err := clickhouse.Open(&clickhouse.Options{
			Protocol: clickhouse.HTTP, Addr: []string{"chdb"}, DialContext: testEngine.DialContext,
			Compression: &clickhouse.Compression{Method: method},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Ping(deadline(t)); err == nil || !strings.Contains(err.Error(), "compression is not supported") {
			t.Errorf("%s: got %v, want a refusal", method, err)
		}
		_ = c.Close()
	}
}

// nativeBlock returns a block of one column n with the numbers below rows.
func nativeBlock(t *testing.T, rows int) []byte {
	t.Helper()
	block := proto.NewBlock()
	if err := block.AddColumn("n", "UInt64"); err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := block.Append(uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	buffer := new(chproto.Buffer)
	if err := block.Encode(buffer, 0); err != nil {
		t.Fatal(err)
	}
	return buffer.Buf
}

func TestBodyThatEndsEarlyInsertsNothing(t *testing.T) {
	c := client(t)
	run(t, c, "CREATE TABLE cut (n UInt64) ENGINE = MergeTree ORDER BY n")
	block := nativeBlock(t, 100_000)
	arguments := url.Values{"query": {"INSERT INTO cut (n) FORMAT Native"}, "database": {one[string](t, c, "SELECT currentDatabase()")}}
	broken := errors.New("broken off")
	for _, n := range []int{0, 1, 20, len(block) / 2, len(block) - 1, len(block)} {
		body := io.MultiReader(bytes.NewReader(block[:n]), failingReader{broken})
		if _, _, err := post(t, deadline(t), arguments, http.Header{}, body); !errors.Is(err, broken) {
			t.Fatalf("after %d bytes: got %v, want the body's error", n, err)
		}
	}
	for _, n := range []int{1, 20, len(block) / 2, len(block) - 1} {
		status, text, err := post(t, deadline(t), arguments, http.Header{}, bytes.NewReader(block[:n]))
		if err != nil || status == http.StatusOK || !strings.HasPrefix(text, "Code: ") {
			t.Fatalf("proper end after %d bytes: got %d %q %v, want an exception", n, status, text, err)
		}
	}
	for range 2 * defaultConnections { // every connection of the pool still works
		if got := one[uint64](t, c, "SELECT count() FROM cut"); got != 0 {
			t.Fatalf("%d rows were inserted, want none", got)
		}
	}
	status, text, err := post(t, deadline(t), arguments, http.Header{}, bytes.NewReader(block))
	if err != nil || status != http.StatusOK || text != "" {
		t.Fatalf("whole body: got %d %q %v", status, text, err)
	}
	if got := one[uint64](t, c, "SELECT count() FROM cut"); got != 100_000 {
		t.Fatalf("%d rows were inserted, want 100000", got)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func TestRefusedRowsNameTheReason(t *testing.T) {
	c := client(t)
	run(t, c, "CREATE TABLE refused (n UInt64, CONSTRAINT small CHECK n < 50000) ENGINE = MergeTree ORDER BY n")
	arguments := url.Values{"database": {one[string](t, c, "SELECT currentDatabase()")}}
	for name, r := range map[string]struct {
		query, code string
		body        []byte
	}{
		"constraint":    {"INSERT INTO refused (n) FORMAT Native", "Code: 469.", nativeBlock(t, 1_000_000)},
		"unknown table": {"INSERT INTO not_there (n) FORMAT Native", "Code: 60.", nativeBlock(t, 1_000_000)},
		"not a block":   {"INSERT INTO refused (n) FORMAT Native", "Code: ", bytes.Repeat([]byte("garbage "), 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			arguments.Set("query", r.query)
			status, text, err := post(t, deadline(t), arguments, http.Header{}, bytes.NewReader(r.body))
			if err != nil || status == http.StatusOK || !strings.HasPrefix(text, r.code) {
				t.Errorf("got %d %q %v, want an exception that begins %q", status, text, err, r.code)
			}
		})
	}
	if got := one[uint64](t, c, "SELECT count() FROM refused"); got != 0 {
		t.Errorf("%d rows were inserted, want none", got)
	}
}

func TestRowsInOtherFormats(t *testing.T) {
	c := client(t)
	run(t, c, "CREATE TABLE formats (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
	run(t, c, "INSERT INTO formats VALUES (1, 'one'), (2, 'semi;colon')", "INSERT INTO formats SELECT 3, 'three'")
	for query, body := range map[string]string{
		"INSERT INTO formats FORMAT JSONEachRow":            `{"n":4,"s":"four"}`,
		"/* c */ insert into formats (s, n) format CSV ;  ": "five,5\n",
	} {
		arguments := url.Values{"query": {query}, "database": {one[string](t, c, "SELECT currentDatabase()")}}
		if status, text, err := post(t, deadline(t), arguments, http.Header{}, strings.NewReader(body)); status != http.StatusOK || err != nil {
			t.Fatalf("%s: got %d %q %v", query, status, text, err)
		}
	}
	got := one[[]string](t, c, "SELECT groupArray(concat(toString(n), s)) FROM (SELECT * FROM formats ORDER BY n)")
	if want := "[1one 2semi;colon 3three 4four 5five]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestCancelledInsertEnds(t *testing.T) {
	c := client(t)
	run(t, c,
		"CREATE TABLE slow_source (at DateTime, key UInt32, n UInt64) ENGINE = MergeTree ORDER BY n",
		"CREATE TABLE slow_target (n UInt64) ENGINE = MergeTree ORDER BY n",
		"CREATE MATERIALIZED VIEW slow_view TO slow_target AS SELECT count() AS n FROM (SELECT n FROM slow_source) AS s CROSS JOIN numbers(1000000000000) AS m WHERE NOT ignore(sipHash64(m.number))")
	ctx, cancel := context.WithCancel(deadline(t))
	var running sync.WaitGroup
	running.Go(func() {
		if err := sendRows(ctx, c, "slow", []dedupRow{month(9, 1, 1)}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
	waitFor(t, "SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO slow_source%'", 1)
	cancel()
	running.Wait()
	waitFor(t, "SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO slow_source%'", 0) // uncancelled it would take an hour
	if got := one[uint64](t, c, "SELECT count() FROM slow_target"); got != 0 {
		t.Errorf("the view's table has %d rows, want none", got)
	}
}
