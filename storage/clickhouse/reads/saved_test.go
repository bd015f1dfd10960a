package reads

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/lru"
)

// answers runs the reads that cache past days.
func answers(t *testing.T, db *testDB, scope analytics.Scope) []any {
	t.Helper()
	var out []any
	for _, dimension := range []filter.Dimension{filter.DimPath, filter.DimEntryPath, filter.DimCountry} {
		out = append(out, allPages(t, db, analytics.BreakdownQuery{Scope: scope, Dimension: dimension, Limit: 100}, nil))
	}
	overview, err := db.Overview(deadline(t), scope, nil)
	if err != nil {
		t.Fatal(err)
	}
	active, err := db.ActiveUsers(deadline(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	return append(out, overview, active)
}

// kinds counts the cached values by kind.
func kinds(db *testDB) map[string]int {
	return map[string]int{"days": count(db.pieces), "ranks": count(db.ranks), "past": count(db.past)}
}

// TestMemoryOutlivesTheProcess checks that everything cached is saved, that answers from it equal the counted ones, and
// that later events replace it.
func TestMemoryOutlivesTheProcess(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	half := len(rows) / 2
	store(t, db, rows[:half], 5000)
	scope := scopes(t, rows)[1]
	scope.Filters = nil
	before := answers(t, db, scope)
	dropParts(db)
	kept := kinds(db)
	if kept["days"] == 0 || kept["ranks"] == 0 || kept["past"] == 0 {
		t.Fatalf("nothing is kept: %v", kept)
	}
	var file bytes.Buffer
	if err := db.SaveDays(deadline(t), &file); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(file.Bytes())
	db.forget()
	if err := db.LoadDays(deadline(t), &file); err != nil {
		t.Fatal(err)
	}
	if got := kinds(db); !reflect.DeepEqual(got, kept) {
		t.Errorf("of %v came back %v", kept, got)
	}
	if got := answers(t, db, scope); !reflect.DeepEqual(got, before) {
		t.Errorf("from the file: %+v\nwant %+v", got, before)
	}
	late := slices.Clone(rows[half:])
	b := db.NewBlock()
	for i := range late {
		b.Append(&late[i])
	}
	insert(t, db, "late", 999, b)
	db.forget()
	want := answers(t, db, scope)
	db.forget()
	if err := db.LoadDays(deadline(t), bytes.NewReader(whole)); err != nil {
		t.Fatal(err)
	}
	if got := answers(t, db, scope); !reflect.DeepEqual(got, want) {
		t.Errorf("with later events: %+v\nwant %+v", got, want)
	}
}

func TestMemoryRefusesWhatIsNotItsOwn(t *testing.T) {
	db, other := open(t), open(t)
	rows := clickhousetest.Rows()
	store(t, db, rows[:300], 300)
	scope := scopes(t, rows)[1]
	scope.Filters = nil
	answers(t, db, scope)
	var file bytes.Buffer
	if err := db.SaveDays(deadline(t), &file); err != nil {
		t.Fatal(err)
	}
	good := file.Bytes()
	damaged := bytes.Clone(good)
	damaged[len(damaged)/2]++
	for _, test := range []struct {
		name    string
		db      *testDB
		content []byte
		want    string
	}{
		{"another store", other, good, "another store"},
		{"damaged", db, damaged, "checksum"},
		{"cut off", db, good[:len(good)-9], "checksum"},
		{"empty", db, nil, "checksum"},
	} {
		db.forget()
		err := test.db.LoadDays(deadline(t), bytes.NewReader(test.content))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if kept := kinds(test.db); kept["days"]+kept["ranks"]+kept["past"] > 0 {
			t.Errorf("%s: %v was taken in", test.name, kept)
		}
	}
	db.queries["breakdown.Buckets"] += " "
	if err := db.LoadDays(deadline(t), bytes.NewReader(good)); err == nil {
		t.Error("what other queries counted was taken in")
	}
}

// count returns the number of values in a cache.
func count[K comparable, V any](c *lru.Cache[K, V]) (n int) {
	for range c.All() {
		n++
	}
	return n
}

// dropParts drops the pieces that cover a part of a day.
func dropParts(db *testDB) {
	kept := lru.New[pieceKey, *piece](pieceBytes)
	pieces := maps.Collect(db.pieces.All())
	for key, p := range pieces {
		if len(p.sessionSet) == 0 {
			kept.Put(key, p, p.bytes())
		}
	}
	db.pieces = kept
}
