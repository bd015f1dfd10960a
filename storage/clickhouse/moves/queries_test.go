package moves

import (
	"strings"
	"testing"

	"svc/storage/clickhouse"
)

// TestEveryTableOfACopyIsNamed has the texts of all queries about tables name one, and nothing left to replace.
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
