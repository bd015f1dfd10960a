package exports

import (
	"context"
	"embed"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/export"
	"svc/storage/clickhouse"
)

//go:embed query/*.sql
var files embed.FS

// Store stores the rows of exports. Its methods may be called concurrently.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
}

// New returns the export store of a database.
func New(conn *clickhouse.Conn) (*Store, error) {
	queries, err := clickhouse.LoadQueries(files)
	if err != nil {
		return nil, err
	}
	return &Store{conn: conn, queries: queries}, nil
}

// AppendExport adds lines to a piece of a file, from a position on.
func (db *Store) AppendExport(ctx context.Context, file string, piece uint64, position uint32, lines [][]byte, expires time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	return clickhouse.WriteError("keeping rows of an export", db.conn.Write(func() error {
		var rows clickhouse.Rows
		for i, line := range lines {
			if err := rows.Append(ctx, db.conn, db.queries["lines.Append"], lineColumns(), file, piece, position+uint32(i), line, expires); err != nil {
				return err
			}
		}
		return rows.Send()
	}))
}

func lineColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "file", Type: "String"},
		{Name: "piece", Type: "UInt64"},
		{Name: "position", Type: "UInt32"},
		{Name: "line", Type: "String"},
		{Name: "expires", Type: "DateTime"},
	}
}

// DropExport removes a file. It is idempotent.
func (db *Store) DropExport(ctx context.Context, file string) error {
	if file == "" || strings.Trim(file, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return fmt.Errorf("the name %q of a file is not made of letters and digits", file)
	}
	statement := strings.ReplaceAll(db.queries["lines.Drop"], "$(file)", file)
	return clickhouse.WriteError("removing an export", db.conn.Exec(ctx, statement, nil))
}

// ExportFiles returns the files with stored lines, and the time of the last stored line of each.
func (db *Store) ExportFiles(ctx context.Context) (map[string]time.Time, error) {
	found := map[string]time.Time{}
	err := db.conn.Read(ctx, "listing the files of exports", db.queries["files.List"], nil, func(rows driver.Rows) (bool, error) {
		var file string
		var modified time.Time
		err := rows.Scan(&file, &modified)
		found[file] = modified
		return true, err
	})
	return found, err
}

// OpenExport returns the file of a finished export in its format. The file is produced while it is read. The caller
// closes it.
func (db *Store) OpenExport(ctx context.Context, e *export.Export) (io.ReadCloser, error) {
	query, format := string(e.Kind)+".Rows", map[export.Format]string{export.CSV: "CSVWithNames", export.Parquet: "Parquet"}[e.Format]
	if e.Format == export.NDJSON {
		query, format = "lines.List", "TSVRaw"
	}
	text := db.queries[query]
	if e.Format == export.CSV {
		text = withoutFormulas(text)
	}
	return db.conn.Format(ctx, "writing an export", format, text, clickhouse.Args{"file": e.File(), "pieces": e.Pieces})
}

// textColumn matches a text column of a file. Times have been read before, and numbers are in numberColumns.
var textColumn = regexp.MustCompile(`row\.(\w+) AS (\w+)`)

// numberColumns are the columns without text.
var numberColumns = []string{"value", "isBot", "sessions", "events", "pageviews"} //nolint:gochecknoglobals // never changed

// withoutFormulas returns a query of rows in which a spreadsheet finds no formulas. A text that begins like a formula
// gets an apostrophe in front. A text that is a number stays unchanged.
func withoutFormulas(query string) string {
	return textColumn.ReplaceAllStringFunc(query, func(column string) string {
		name := textColumn.FindStringSubmatch(column)[1]
		if slices.Contains(numberColumns, name) {
			return column
		}
		return "if(match(ifNull(row." + name + ", ''), '^[-=+@\\t\\r\\n＝＋－＠]') AND NOT match(ifNull(row." + name + ", ''), '^[-+]?[0-9]+([.][0-9]+)?$'), concat('\\'', row." + name + "), row." + name + ") AS " + name
	})
}
