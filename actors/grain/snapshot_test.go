package grain

import (
	"maps"
	"reflect"
	"testing"

	"svc/domain"
)

// TestASnapshotHoldsTheLatestVersions replaces the values of two owners in several orders.
func TestASnapshotHoldsTheLatestVersions(t *testing.T) {
	t.Parallel()
	version := func(n uint32) domain.Version { return domain.Version{Generation: 1, Sequence: n} }
	for name, tc := range map[string]struct {
		steps func(s *Snapshot[string, int, string])
		want  map[int]string
	}{
		"empty": {func(*Snapshot[string, int, string]) {}, map[int]string{}},
		"two owners": {func(s *Snapshot[string, int, string]) {
			s.Replace(version(1), "a", map[int]string{1: "one", 2: "two"})
			s.Replace(version(1), "b", map[int]string{3: "three"})
		}, map[int]string{1: "one", 2: "two", 3: "three"}},
		"a later version": {func(s *Snapshot[string, int, string]) {
			s.Replace(version(1), "a", map[int]string{1: "one", 2: "two"})
			s.Replace(version(2), "a", map[int]string{2: "TWO", 4: "four"})
		}, map[int]string{2: "TWO", 4: "four"}},
		"an earlier version": {func(s *Snapshot[string, int, string]) {
			s.Replace(version(2), "a", map[int]string{1: "one"})
			s.Replace(version(1), "a", map[int]string{2: "two"})
		}, map[int]string{1: "one"}},
		"the same version again": {func(s *Snapshot[string, int, string]) {
			s.Replace(version(2), "a", map[int]string{1: "one"})
			s.Replace(version(2), "a", map[int]string{1: "ONE"})
		}, map[int]string{1: "ONE"}},
		"no values, then an earlier version": {func(s *Snapshot[string, int, string]) {
			s.Replace(version(1), "a", map[int]string{1: "one"})
			s.Replace(version(3), "a", nil)
			s.Replace(version(2), "a", map[int]string{1: "one"})
		}, map[int]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Snapshot[string, int, string]
			tc.steps(&s)
			if got := maps.Collect(s.All()); !reflect.DeepEqual(got, tc.want) || s.Len() != len(tc.want) {
				t.Errorf("got %v and %d, want %v", got, s.Len(), tc.want)
			}
			for key, want := range tc.want {
				if got, known := s.Find(key); got != want || !known {
					t.Errorf("%d: got %q, %t", key, got, known)
				}
			}
			if got, known := s.Find(9); got != "" || known {
				t.Errorf("an unknown key: got %q, %t", got, known)
			}
		})
	}
}
