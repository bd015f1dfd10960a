package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc/storage/datadir"
	"svc/storage/kafka"
)

// personal lists texts that the records of a person contain.
var personal = []string{"203.0.113.77", "ann-1", "ann@example.com"}

// hold returns the files of a folder that contain a text.
func hold(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = append(found, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// nowhere fails if a file of the folder contains one of the given texts.
func nowhere(t *testing.T, step, dir string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if found := hold(t, dir, text); found != nil {
			t.Errorf("%s: %q is in %v", step, text, found)
		}
	}
}

// valuesOf reads the records of partition 0 from an offset to the end.
func valuesOf(t *testing.T, b *Broker, from int64) (values []string, end int64) {
	t.Helper()
	topic, err := kafka.NewTopic(kafka.TopicConfig{Brokers: b.Addrs(), Topic: testTopic, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	if end, err = topic.End(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	consumer, err := kafka.NewConsumer(kafka.ConsumerConfig{Brokers: b.Addrs(), Topic: testTopic, Group: "g", Handler: idle{}})
	if err != nil {
		t.Fatal(err)
	}
	records, err := consumer.Read(t.Context(), 0, from, end-1)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records {
		values = append(values, strings.TrimRight(string(record.Value), " "))
	}
	return values, end
}

// send appends payloads of different lengths. At these lengths, the length of a varint changes.
func send(t *testing.T, produce func(context.Context, []byte) error, texts ...string) {
	t.Helper()
	for n, text := range texts {
		if err := produce(t.Context(), []byte(text+strings.Repeat(" ", []int{0, 20, 100, 8000, 200_000}[n%5]))); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForgottenRecordsLeaveTheDisk overwrites the records of a person in a file that never fills. Then it appends more
// records.
func TestForgottenRecordsLeaveTheDisk(t *testing.T) {
	for _, sync := range []bool{true, false} {
		t.Run(fmt.Sprint("sync ", sync), func(t *testing.T) {
			dir := t.TempDir()
			config := Config{Dir: dir, Sync: sync, Topics: []string{testTopic}, Partitions: 1}
			b := start(t, config)
			produce := producer(t, b)
			text := strings.Join(personal, " ")
			send(t, produce, text, text, text, text, text, "newer")
			forget := func(before int64) {
				t.Helper()
				if err := b.Forget(testTopic, map[int]int64{0: before}); err != nil {
					t.Fatal(err)
				}
			}
			forget(4)
			if hold(t, dir, "ann-1") == nil || hold(t, dir, "newer") == nil {
				t.Error("records that are not old are gone")
			}
			forget(5)
			nowhere(t, "a part of the file is old", dir, personal...)
			image := filepath.Join(t.TempDir(), "killed")
			if err := os.CopyFS(image, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			for step, folder := range map[string]string{"running": "", "killed": image} {
				now := b
				if folder != "" {
					now = start(t, Config{Dir: folder, Sync: sync, Topics: []string{testTopic}, Partitions: 1})
				}
				values, end := valuesOf(t, now, 0)
				if want := []string{"", "", "", "", "", "newer"}; !slices.Equal(values, want) || end != 6 {
					t.Errorf("%s: the log holds %q and ends at %d, want %q and 6", step, values, end, want)
				}
			}
			forget(6) // all records: the server is quiet
			nowhere(t, "the newest record is old", dir, "newer")
			send(t, produce, "last")
			if values, end := valuesOf(t, b, 6); !slices.Equal(values, []string{"last"}) || end != 7 {
				t.Errorf("afterwards the log ends at %d with %q", end, values)
			}
			if err := b.Forget(testTopic, map[int]int64{0: 6, 3: 9}); err != nil { // there is nothing new, and no partition 3
				t.Error(err)
			}
			image = filepath.Join(t.TempDir(), "killed again")
			if err := os.CopyFS(image, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			again := start(t, Config{Dir: image, Sync: sync, Topics: []string{testTopic}, Partitions: 1})
			send(t, producer(t, again), "after the kill")
			if values, end := valuesOf(t, again, 6); !slices.Equal(values, []string{"last", "after the kill"}) || end != 8 {
				t.Errorf("after a kill the log ends at %d with %q", end, values)
			}
		})
	}
}

// TestAKilledForgettingIsFinished opens a folder with half-overwritten batches.
func TestAKilledForgettingIsFinished(t *testing.T) {
	dir := t.TempDir()
	b := start(t, Config{Dir: dir, Sync: true, Topics: []string{testTopic}, Partitions: 1})
	text := strings.Join(personal, " ")
	send(t, producer(t, b), text, text, text, "newer")
	if err := b.forcer.eraseJournal(); err != nil {
		t.Fatal(err)
	}
	blanks, err := b.findBlanks(testTopic, map[int]int64{0: 3})
	if err != nil || len(blanks) != 3 {
		t.Fatalf("%d batches are to be overwritten, %v", len(blanks), err)
	}
	for written := range blanks[1].Size + 1 {
		if written%17 != 0 && written != blanks[1].Size {
			continue
		}
		image := filepath.Join(t.TempDir(), "log")
		if err := os.CopyFS(image, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		note := fmt.Sprintf(`[{"file":%q,"at":%d,"size":%d,"head":%s}]`, blanks[1].File, blanks[1].At, blanks[1].Size, encoded(t, blanks[1].Head))
		if err := datadir.Replace(filepath.Join(image, blanksFile), []byte(note)); err != nil {
			t.Fatal(err)
		}
		torn := append(slices.Clone(blanks[1].Head), make([]byte, blanks[1].Size)...)[:written]
		file, err := os.OpenFile(filepath.Join(image, blanks[1].File), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt(torn, blanks[1].At); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		values, end := valuesOf(t, start(t, Config{Dir: image, Sync: true, Topics: []string{testTopic}, Partitions: 1}), 0)
		if want := []string{text, "", text, "newer"}; !slices.Equal(values, want) || end != 4 {
			t.Errorf("after %d bytes the log holds %q and ends at %d, want %q", written, values, end, want)
		}
		if _, err := os.Stat(filepath.Join(image, blanksFile)); !os.IsNotExist(err) {
			t.Errorf("after %d bytes the note is left: %v", written, err)
		}
	}
}

// encoded returns bytes in the encoding of the note.
func encoded(t *testing.T, head []byte) []byte {
	t.Helper()
	text, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
