package state

import (
	"context"
	"errors"
	"maps"
	"testing"
)

func TestFactsOfTheInstallation(t *testing.T) {
	db := open(t)
	check := func(step string, want map[string]string) {
		t.Helper()
		got, err := db.Facts(deadline(t))
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", step, got, err, want)
		}
	}
	check("nothing is noted", map[string]string{})
	for _, c := range []struct{ name, value, want string }{
		{"data set", "a", "a"},
		{"data set", "b", "a"},
		{"key", "k", "k"},
	} {
		if got, err := db.NoteFact(deadline(t), c.name, c.value); err != nil || got != c.want {
			t.Errorf("noting %s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	// A node stored the fact at the same moment, but wrote later.
	if err := db.setFact(deadline(t), db.conn, "installation.Append", "data set", "c"); err != nil {
		t.Fatal(err)
	}
	check("the first stands", map[string]string{"data set": "a", "key": "k"})
	for _, value := range []string{"m", "l"} {
		if err := db.ReplaceFact(deadline(t), "key", value); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, db, "OPTIMIZE TABLE installation FINAL")
	check("the last replacement stands", map[string]string{"data set": "a", "key": "l"})
	conn := db.conn.Flushing(func(context.Context) error { return errors.New("a new store was flushed into") })
	if used, err := (&Store{conn: conn, queries: db.queries}).Used(deadline(t)); used || err != nil {
		t.Errorf("used %t, %v", used, err)
	}
}
