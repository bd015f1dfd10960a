package exports_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/export"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/exports"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

// event is a row of the feed in the format of export lines.
const event = `{"id":"e%06d","ts":"2026-11-20T10:00:00.123Z","receivedAt":"2026-11-20T10:00:01.000Z","name":"order","url":null,"path":"/a,b","title":"Say \"hi\"\n","distinctId":"+cmd|' /C calc'!A0","referrer":"=1+1","utmTerm":"@SUM(A1)","source":"-5.25","medium":"-2+3","release":"\tx","clickIds":{"gclid":"g"},"value":1.5,"properties":{"items":[1,2]},"isBot":false,"environment":"production"}`

// TestTheEngineWritesEachFormatOnce stores more rows than the engine sends at a time and reads them back in each
// format. They must be in order, with one header and one footer, and without a piece that was not recorded.
func TestTheEngineWritesEachFormatOnce(t *testing.T) {
	conn := clickhousetest.Open(t)
	store, err := exports.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	const rows = 150_000
	expires := time.Now().Add(time.Hour)
	e := export.Export{ID: "exp_1", Kind: export.Events}
	for piece := range uint64(3) {
		lines := make([][]byte, rows/3)
		for i := range lines {
			lines[i] = fmt.Appendf(nil, event, int(piece)*len(lines)+i)
		}
		e.Pieces = append(e.Pieces, (piece+1)<<32|7)
		if err := store.AppendExport(t.Context(), e.File(), e.Pieces[piece], 0, lines, expires); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.AppendExport(t.Context(), e.File(), 9, 0, [][]byte{[]byte("half a piece")}, expires); err != nil {
		t.Fatal(err)
	}
	e.Format = export.NDJSON
	lines := strings.Split(strings.TrimSuffix(string(read(t, store, &e)), "\n"), "\n")
	if last := fmt.Sprintf(event, rows-1); len(lines) != rows || lines[rows-1] != last {
		t.Errorf("%d lines, the last %s", len(lines), lines[len(lines)-1])
	}
	e.Format = export.CSV
	table, err := csv.NewReader(bytes.NewReader(read(t, store, &e))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	row := map[string]string{}
	for i, name := range table[0] {
		row[name] = table[rows][i]
	}
	if len(table) != rows+1 || row["id"] != "e149999" || row["title"] != "Say \"hi\"\n" || row["properties"] != `{"items":[1,2]}` || row["clickIds"] != `{"gclid":"g"}` || row["ts"] != "2026-11-20T10:00:00.123Z" || row["url"] != `` {
		t.Errorf("%d rows, the last %q", len(table), row)
	}
	if row["path"] != "/a,b" || row["referrer"] != "'=1+1" || row["utmTerm"] != "'@SUM(A1)" || row["source"] != "-5.25" || row["medium"] != "'-2+3" || row["release"] != "'\tx" || row["distinctId"] != "'+cmd|' /C calc'!A0" {
		t.Errorf("formulas are written as %q", row)
	}
	e.Format = export.Parquet
	file := filepath.Join(t.TempDir(), "events.parquet")
	if err := os.WriteFile(file, read(t, store, &e), 0o600); err != nil {
		t.Fatal(err)
	}
	var summary string
	query := "SELECT concat(toString(count()), ' ', max(id), ' ', toString(any(ts)), ' ', any(properties), ' ', toString(countIf(url IS NULL))) FROM file('" + file + "', 'Parquet')"
	err = conn.Read(t.Context(), "reading the file", query, nil, func(rows driver.Rows) (bool, error) { return false, rows.Scan(&summary) })
	if want := `150000 e149999 2026-11-20 10:00:00.123 {"items":[1,2]} 150000`; err != nil || summary != want {
		t.Errorf("the Parquet file holds %s, not %s (%v)", summary, want, err)
	}
	dropped(t, store, &e)
}

// dropped removes a file and checks that no line of it is left.
func dropped(t *testing.T, store *exports.Store, e *export.Export) {
	t.Helper()
	for range 2 {
		if err := store.DropExport(t.Context(), e.File()); err != nil {
			t.Fatal(err)
		}
	}
	files, err := store.ExportFiles(t.Context())
	if err != nil || len(files) != 0 {
		t.Errorf("left: %v %v", files, err)
	}
	e.Format = export.NDJSON
	if left := read(t, store, e); len(left) > 0 {
		t.Errorf("%d bytes are left", len(left))
	}
	if err := store.DropExport(t.Context(), "x'; DROP TABLE events"); err == nil {
		t.Error("a statement is taken for a name")
	}
}

func read(t *testing.T, store *exports.Store, export *export.Export) []byte {
	t.Helper()
	file, err := store.OpenExport(t.Context(), export)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestQueriesExplain lets the engine plan every query.
func TestQueriesExplain(t *testing.T) {
	conn := clickhousetest.Open(t)
	queries, err := clickhouse.LoadQueries(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	args := clickhouse.Args{"file": "exp_1_0", "pieces": []uint64{1}}
	clickhousetest.Explain(t, conn, queries, map[string]clickhouse.Args{"": args}, func(_, text string) string {
		if strings.HasPrefix(text, "SELECT") {
			return text
		}
		return ""
	})
}
