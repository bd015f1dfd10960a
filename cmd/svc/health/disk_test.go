package health

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"svc/domain"
)

// shelf is a store that records its calls.
type shelf struct {
	told   []string
	damage error
}

func (s *shelf) HoldWrites(hold bool) error {
	s.told = append(s.told, fmt.Sprintf("hold %t", hold))
	return nil
}

func (s *shelf) KeepSources() error {
	s.told = append(s.told, "keep sources")
	return nil
}

func (s *shelf) CheckParts() error { return s.damage }

// shelfReserve is a reserve of 16 MiB that records its calls.
type shelfReserve struct {
	held bool
	told []string
}

func (r *shelfReserve) Size() uint64 { return ReserveBytes }
func (r *shelfReserve) Held() bool   { return r.held }

func (r *shelfReserve) Hold() error {
	r.held, r.told = true, append(r.told, "hold")
	return nil
}

func (r *shelfReserve) Release() error {
	r.held, r.told = false, append(r.told, "release")
	return nil
}

// TestAFullDiskGivesUpTheReserve fills a disk past the floor, as other processes may do, and frees space again.
func TestAFullDiskGivesUpTheReserve(t *testing.T) {
	const mib = 1 << 20
	var free uint64
	kept := &shelfReserve{}
	s := NewDisk(DiskConfig{Free: func() (uint64, uint64, error) { return free, 1000 * mib, nil }, Reserve: kept, Logger: slog.New(slog.DiscardHandler)})
	s.Hold(&shelf{})
	for _, step := range []struct {
		name string
		free uint64
		told []string
	}{
		{"free", 500 * mib, []string{"hold"}},
		{"below the floor of 50", 49 * mib, nil},
		{"almost full", 4 * mib, nil},
		{"full", 4*mib - 1, []string{"release"}},
		{"what it gave", 20 * mib, nil},
		{"enough to go on", 63 * mib, nil},
		{"enough beside the reserve", 79 * mib, []string{"hold"}},
	} {
		free, kept.told = step.free, nil
		s.Look()
		if !slices.Equal(kept.told, step.told) {
			t.Errorf("%s: told %q, want %q", step.name, kept.told, step.told)
		}
	}
}

func TestSpaceHoldsWritesBelowTheFloor(t *testing.T) {
	const mib = 1 << 20
	var free, whole uint64
	var err error
	store := &shelf{}
	s := NewDisk(DiskConfig{Free: func() (uint64, uint64, error) { return free, whole, err }, Reserve: &shelfReserve{}, Logger: slog.New(slog.DiscardHandler)})
	s.Hold(store)
	for _, step := range []struct {
		name        string
		free, whole uint64
		err         error
		low         bool
		told        []string
	}{
		{"half of a small disk", 128 * mib, 256 * mib, nil, false, nil},
		{"below a twentieth", 12 * mib, 256 * mib, nil, true, []string{"hold true"}},
		{"still", 11 * mib, 256 * mib, nil, true, nil},
		{"a little above", 13 * mib, 256 * mib, nil, true, nil},
		{"not known", 0, 0, errors.New("away"), true, nil},
		{"a quarter above", 17 * mib, 256 * mib, nil, false, []string{"hold false"}},
		{"a large disk", 1025 * mib, 1 << 50, nil, false, nil},
		{"a large disk below a gigabyte", 1023 * mib, 1 << 50, nil, true, []string{"hold true"}},
	} {
		free, whole, err = step.free, step.whole, step.err
		store.told = nil
		s.Look()
		if got := s.Ready(t.Context()) != nil; got != step.low || !slices.Equal(store.told, step.told) {
			t.Errorf("%s: low %t, told %q, want %t, %q", step.name, got, store.told, step.low, step.told)
		}
		refused, _ := errors.AsType[*domain.Error](s.Admit())
		if got := refused != nil && refused.Code == domain.CodeUnavailable && refused.Accepted == domain.AcceptedNone && refused.RetryAfter > 0; got != step.low {
			t.Errorf("%s: refused with %v", step.name, refused)
		}
	}
}

func TestADamagedStoreStaysHeld(t *testing.T) {
	free := uint64(100)
	store := &shelf{}
	s := NewDisk(DiskConfig{Free: func() (uint64, uint64, error) { return free, 1000, nil }, Floor: 50, Reserve: &shelfReserve{}, Logger: slog.New(slog.DiscardHandler)})
	s.Hold(store)
	s.check()
	if err := s.Ready(t.Context()); err != nil || len(store.told) > 0 {
		t.Errorf("a sound store: %v, %q", err, store.told)
	}
	store.damage = errors.New("1 parts of the store are damaged")
	s.check()
	free = 10
	s.Look()
	free = 100
	s.Look()
	if err := s.Ready(t.Context()); err == nil || err.Error() != store.damage.Error() {
		t.Errorf("ready: %v", err)
	}
	if want := []string{"keep sources", "hold true", "hold true"}; !slices.Equal(store.told, want) {
		t.Errorf("told %q, want %q", store.told, want)
	}
}

func TestDiskOfAFolder(t *testing.T) {
	if free, whole, err := SpaceOf(t.TempDir())(); err != nil || whole == 0 || free > whole {
		t.Errorf("%d of %d, %v", free, whole, err)
	}
}
