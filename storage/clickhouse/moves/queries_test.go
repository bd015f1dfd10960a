package moves

import (
	"strings"
	"testing"

	"svc/storage/clickhouse"
)

// TestEveryTableOfACopyIsNamed checks that every query about tables names a table and has no placeholder left.
func TestEveryTableOfACopyIsNamed(t *testing.T) {
	db, err := New(&clickhouse.Conn{})
	if err != nil {
		t.Fatal(err)
	}
	for name := range db.queries {
		if text := db.text(name, "copy", "events"); strings.Contains(text, "$(") {
			t.Errorf("%s leaves %s", name, text)
		}
	}
}
