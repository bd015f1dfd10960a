package reference

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

// TestASplitByHand removes ids from the people of a device, an alias and a merge.
func TestASplitByHand(t *testing.T) {
	t.Parallel()
	at := func(id string) Place { return Place{"production", Visitor{ID: id}} }
	merge := Merge{"production", Visitor{ID: "ada"}, Visitor{ID: "bert"}}
	for name, c := range map[string]struct {
		split  string
		merges []Merge
		want   []string
	}{
		"nothing":              {"", []Merge{merge}, []string{"[carl] 1", "[ada bert device] 4"}},
		"a device":             {"device", nil, []string{"[carl] 1", "[ada] 1", "[bert] 2", "[device] 1"}},
		"a merge":              {"bert", []Merge{merge}, []string{"[carl] 1", "[ada] 1", "[bert device] 3"}},
		"an id with no merges": {"bert", nil, []string{"[carl] 1", "[ada] 1", "[bert] 2", "[device] 1"}},
	} {
		all := rows(t,
			"2026-11-19T07:00:00 - s1 page_view /a",
			"2026-11-19T08:00:00 bert s2 $identify",
			"2026-11-19T09:00:00 bert s3 page_view /b",
			"2026-11-19T10:00:00 ada s4 $identify",
			"2026-11-19T11:00:00 carl s5 page_view /c",
		)
		all[0].DistinctID, all[0].AnonymousID, all[1].AnonymousID = "", "device", "device"
		d := New(time.UTC, all)
		d.Merges = c.merges
		if c.split != "" {
			split, merges := d.Split(at(c.split), all[4].Ts)
			d.Splits, d.Merges = []Split{split}, merges
			d.Change()
		}
		var got []string
		for _, p := range d.People("production") {
			got = append(got, fmt.Sprint(p.ids(), len(p.rows)))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}
