package broker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"svc/storage/kafka"
)

// forcedDir is a directory of segments that a forcedLog follows.
type forcedDir struct {
	t   testing.TB
	dir string
	log *forcedLog
}

func newForcedDir(t testing.TB) *forcedDir {
	d := &forcedDir{t: t, dir: t.TempDir()}
	d.log = &forcedLog{dir: d.dir, pick: pickSegments}
	t.Cleanup(d.log.close)
	return d
}

// write appends to a file of the directory.
func (d *forcedDir) write(name string) {
	d.t.Helper()
	f, err := os.OpenFile(filepath.Join(d.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("record"); err != nil {
		d.t.Fatal(err)
	}
}

// date sets the directory's time.
func (d *forcedDir) date(at time.Time) {
	d.t.Helper()
	if err := os.Chtimes(d.dir, at, at); err != nil {
		d.t.Fatal(err)
	}
}

// expect runs one check of the directory and compares the files that it would sync.
func (d *forcedDir) expect(step string, want ...string) {
	d.t.Helper()
	files, err := d.log.dirty(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	var got []string
	for _, g := range files {
		if got = append(got, filepath.Base(g.file.Name())); g.created {
			got = append(got, filepath.Base(d.dir))
		}
	}
	if !slices.Equal(got, want) {
		d.t.Errorf("%s: forced %q, want %q", step, got, want)
	}
}

// TestARoundForcesWhatWasWritten follows a directory through growth and new files, with and without a change of the
// directory's time.
func TestARoundForcesWhatWasWritten(t *testing.T) {
	d := newForcedDir(t)
	itself := filepath.Base(d.dir)
	old := time.Now().Add(-time.Hour)

	d.expect("an empty directory")
	d.write("0.dat")
	d.date(old)
	d.expect("the first segment", "0.dat", itself)
	d.expect("nothing written")
	d.write("0.dat")
	d.expect("growth", "0.dat")

	d.write("0.dat")
	d.write("7.dat")
	d.expect("growth of the last segment and a new one", "0.dat", "7.dat", itself)
	d.write("7.dat")
	d.date(old)
	d.expect("growth of the new one", "7.dat")
	d.expect("nothing written again")

	recent := time.Now()
	d.date(recent)
	d.expect("a change without a file")
	d.write("9.dat")
	d.date(recent)
	d.expect("a new segment in the same tick of the clock", "9.dat", itself)
}

// TestAQuietRoundReadsNoNames checks that the cheap path is taken: it does not see a file that appears while the
// directory's time stays the same.
func TestAQuietRoundReadsNoNames(t *testing.T) {
	d := newForcedDir(t)
	old := time.Now().Add(-time.Hour)
	d.write("0.dat")
	d.date(old)
	d.expect("the first segment", "0.dat", filepath.Base(d.dir))
	d.write("7.dat")
	d.date(old)
	d.expect("a segment that no time tells of")
}

// BenchmarkForceLook measures the checks of a round before it syncs, over the log of 16 partitions in which one file
// grew.
func BenchmarkForceLook(b *testing.B) {
	dirs := make([]*forcedDir, 16)
	for n := range dirs {
		dirs[n] = newForcedDir(b)
		dirs[n].write("0.dat")
		dirs[n].date(time.Now().Add(-time.Hour))
	}
	var files []growth
	b.ReportAllocs()
	for b.Loop() {
		files = files[:0]
		for _, d := range dirs {
			var err error
			if files, err = d.log.dirty(files); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestAnIdleForcerLooksForNothing runs rounds over partitions without a record. Every folder exists and is open, and
// its names are not read again once its time has settled.
func TestAnIdleForcerLooksForNothing(t *testing.T) {
	f, err := newForcer(t.TempDir(), []string{"idle", "quiet"}, func(string) int { return 16 })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.close() }()
	for _, l := range f.logs {
		if err := os.Chtimes(l.dir, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.force(); err != nil {
		t.Fatal(err)
	}
	for _, l := range f.logs {
		if l.handle == nil || l.changed.IsZero() {
			t.Fatalf("%s is looked for again", l.dir)
		}
		l.dir = "no folder" // reading names would use this folder
		l.pick = func([]string, string) []string { t.Error("names were read again"); return nil }
	}
	if err := f.force(); err != nil {
		t.Fatal(err)
	}
}

// rest waits until no round is under way, and prevents the next round until release is called. Meanwhile the caller may
// read the fields that a round writes.
func (f *forcer) rest() (release func()) {
	for {
		f.mu.Lock()
		if f.current == nil {
			return f.mu.Unlock
		}
		under := f.current.done
		f.mu.Unlock()
		<-under
	}
}

func TestAcknowledgedIsForced(t *testing.T) {
	dir := t.TempDir()
	b := start(t, Config{Dir: dir, Sync: true, Topics: []string{testTopic}, Partitions: 1})
	produce := producer(t, b)
	for range 2*16 + 2 { // a file holds 16 MiB
		if err := produce(t.Context(), make([]byte, 1<<20-1<<10)); err != nil {
			t.Fatal(err)
		}
		log := b.forcer.logs[0]
		names, err := filepath.Glob(filepath.Join(dir, "partitions", testTopic+"-0", "*.dat"))
		if err != nil {
			t.Fatal(err)
		}
		newest := slices.MaxFunc(names, func(a, b string) int {
			return int(segmentBase(filepath.Base(a)) - segmentBase(filepath.Base(b)))
		})
		info, err := os.Stat(newest)
		release := b.forcer.rest()
		active, forced := log.active.Name(), log.forced
		release()
		if err != nil || active != newest || forced != info.Size() {
			t.Fatalf("forced %d of %s, log is at %d of %s, %v", forced, active, info.Size(), newest, err)
		}
	}
	defer b.forcer.rest()()
	if base := segmentBase(filepath.Base(b.forcer.logs[0].active.Name())); base == 0 {
		t.Error("log did not begin a second file")
	}
}

// breakForcing makes the next sync of the journal fail. Writes to the null device succeed, but it cannot be synced.
func breakForcing(t *testing.T, b *Broker) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	defer b.forcer.rest()()
	for _, half := range b.forcer.journal.halves {
		if err := unix.Dup3(int(null.Fd()), int(half.Fd()), unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailedForceIsFinal checks that the owner and every client get the error of a failed sync, and that earlier
// records are readable after a restart.
func TestFailedForceIsFinal(t *testing.T) {
	dir := t.TempDir()
	config := Config{Dir: dir, Sync: true, Topics: []string{testTopic}, Partitions: 1}
	b, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- b.Run(context.Background()) }()
	produce := producer(t, b)
	for _, record := range []string{"first", "second"} { // the journal is unused until the first round has ended
		if err := produce(t.Context(), []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Failure(); err != nil {
		t.Fatalf("before the failure: %v", err)
	}
	breakForcing(t, b)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := produce(ctx, []byte("third")); !errors.Is(err, kafka.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	const cause = "forcing the log to disk: forcing the journal: invalid argument"
	_, dialed := b.Dial(t.Context(), "tcp", b.Addrs()[0])
	for where, err := range map[string]error{"Run": <-ran, "Failure": b.Failure(), "Dial": dialed, "Close": b.Close()} {
		if err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("%s: got %v, want the cause", where, err)
		}
	}

	again := start(t, config)
	if err := producer(t, again)(t.Context(), []byte("fourth")); err != nil {
		t.Errorf("after a new start: %v", err)
	}
	if err := again.Failure(); err != nil {
		t.Errorf("after a new start: %v", err)
	}
}
