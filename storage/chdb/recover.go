package chdb

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The engine records the token of a block in the table's deduplication log before it renames the block's part into
// place. A process that is killed between the two leaves a token without rows. A replay with the same token would then
// be dropped and the rows lost. Therefore, before the engine starts, this package revokes the records of parts that do
// not exist. It does so in the engine's own format, with a record that the part was dropped.

// Operations of a record in a deduplication log. A record is one line: operation, part name and block id, separated by
// tabs.
const (
	recordAdded   = "1"
	recordDropped = "2"
)

// temporaryLog is the file in the data folder in which a new log is written. The engine reads every file next to a log
// as a log, so the new log must not be written there.
const temporaryLog = "deduplication_log.tmp"

// partName is the name of a committed part: partition, first block, last block, level and sometimes a mutation.
var partName = regexp.MustCompile(`^([^_]+)_(\d+)_(\d+)_\d+(?:_(\d+))?$`)

// logName is the name of a deduplication log. The highest number is the newest.
var logName = regexp.MustCompile(`^deduplication_log_(\d+)\.txt$`)

// part is the range of blocks in a part.
type part struct {
	partition   string
	first, last uint64
	// version is the number of the last mutation that rewrote the part, or else of its first block. Blocks and
	// mutations share one sequence of numbers.
	version uint64
}

func parsePart(name string) (part, bool) {
	m := partName.FindStringSubmatch(name)
	if m == nil {
		return part{}, false
	}
	first, err1 := strconv.ParseUint(m[2], 10, 64)
	last, err2 := strconv.ParseUint(m[3], 10, 64)
	version, err3 := strconv.ParseUint(cmp.Or(m[4], m[2]), 10, 64)
	return part{m[1], first, last, version}, err1 == nil && err2 == nil && err3 == nil
}

func (p part) covers(other part) bool {
	return p.partition == other.partition && p.first <= other.first && other.last <= p.last
}

// recoverTokens repairs the deduplication logs of all tables below the data folder dir, and returns the number of
// records that it revoked. It must not run while an engine has the folder open. It is idempotent.
func recoverTokens(dir string) (int, error) {
	logs, err := filepath.Glob(filepath.Join(dir, "store", "*", "*", "deduplication_logs"))
	if err != nil {
		return 0, fmt.Errorf("listing deduplication logs: %w", err)
	}
	total := 0
	for _, folder := range logs {
		n, err := recoverTable(filepath.Dir(folder), folder, filepath.Join(dir, temporaryLog))
		if err != nil {
			return total, fmt.Errorf("recovering the tokens of %s: %w", filepath.Dir(folder), err)
		}
		total += n
	}
	return total, nil
}

// recoverTable repairs the log of one table. It replaces the newest file as a whole, so that a crash leaves either the
// old file or the new one.
func recoverTable(table, folder, temporary string) (int, error) {
	notes, newest, err := readNotes(folder)
	if err != nil || len(notes) == 0 {
		return 0, err
	}
	parts, err := listParts(table)
	if err != nil {
		return 0, err
	}
	var dropped strings.Builder
	n := 0
	for _, note := range notes {
		noted, ok := parsePart(note.part)
		if !ok || slices.ContainsFunc(parts, func(p part) bool { return p.covers(noted) }) {
			continue
		}
		fmt.Fprintf(&dropped, "%s\t%s\t%s\n", recordDropped, note.part, note.block)
		n++
	}
	if n == 0 {
		return 0, nil
	}
	return n, appendAtomically(newest, temporary, dropped.String())
}

// note records that a block became a part.
type note struct{ part, block string }

// readNotes returns the records in force in the logs of a folder, and the newest log.
func readNotes(folder string) (notes []note, newest string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, "", err
	}
	numbers := map[int]string{}
	for _, e := range entries {
		if m := logName.FindStringSubmatch(e.Name()); m != nil {
			n, _ := strconv.Atoi(m[1])
			numbers[n] = filepath.Join(folder, e.Name())
		}
	}
	order := make([]int, 0, len(numbers))
	for n := range numbers {
		order = append(order, n)
	}
	slices.Sort(order)
	inForce := map[string]string{} // part by block
	var blocks []string
	for _, n := range order {
		newest = numbers[n]
		content, err := os.ReadFile(newest)
		if err != nil {
			return nil, "", err
		}
		blocks = append(blocks, readRecords(content, inForce)...)
	}
	for _, b := range blocks {
		if p, ok := inForce[b]; ok {
			notes = append(notes, note{p, b})
			delete(inForce, b)
		}
	}
	return notes, newest, nil
}

// readRecords applies the records of a log to inForce and returns the blocks that it adds, in order. A last line
// without a newline was never finished and does not count.
func readRecords(content []byte, inForce map[string]string) (blocks []string) {
	content = content[:bytes.LastIndexByte(content, '\n')+1]
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), "\t", 3)
		if len(fields) != 3 {
			continue
		}
		switch operation, part, block := fields[0], fields[1], fields[2]; operation {
		case recordAdded:
			inForce[block] = part
			blocks = append(blocks, block)
		case recordDropped:
			delete(inForce, block)
		}
	}
	return blocks
}

// listParts returns the committed parts of a table.
func listParts(table string) ([]part, error) {
	entries, err := os.ReadDir(table)
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, e := range entries {
		if p, ok := parsePart(e.Name()); ok && e.IsDir() {
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// appendAtomically replaces a file by its content followed by text. It first writes the new content to the file
// temporary.
func appendAtomically(path, temporary, text string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	content = append(content[:bytes.LastIndexByte(content, '\n')+1], text...)
	if err := os.WriteFile(temporary, content, 0o640); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
