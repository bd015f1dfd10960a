package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"svc/domain/event"
)

// longestItem is the longest line that is read as an item: the limit of a request.
const longestItem = event.MaxRequestBytes

// byteOrderMark precedes the files of some editors and exports.
const byteOrderMark = "\uFEFF"

// importEvents replays a file of items and prints the outcome of its lines.
func importEvents(ctx context.Context, flags importFlags, stdout, stderr io.Writer) error {
	var lines int64
	err := eachRawLine(ctx, flags.file, longestItem, func([]byte) error {
		lines++
		return nil
	})
	if err != nil {
		return err
	}
	if lines == 0 {
		return fmt.Errorf("%s holds no line", flags.file)
	}
	fmt.Fprintf(stderr, "%s: %d lines\n", flags.file, lines)

	var totals importTotals
	started := time.Now()
	progress := newProgress(stderr, lines, &totals)
	err = replayItems(ctx, flags, &totals, progress)
	progress.stop()
	totals.print(stdout, time.Since(started))
	totals.explain(stderr)
	return totals.verdict(ctx, err, flags)
}

// replayItems sends every item of the file.
func replayItems(ctx context.Context, flags importFlags, totals *importTotals, progress *importProgress) error {
	return sendItems(ctx, flags, totals, progress, func(ctx context.Context, add func(importItem) error) error {
		var number int64
		return eachRawLine(ctx, flags.file, longestItem, func(raw []byte) error {
			number++
			if number == 1 {
				raw = bytes.TrimPrefix(raw, []byte(byteOrderMark))
			}
			line := bytes.TrimSpace(raw)
			if len(line) == 0 {
				totals.skipped.Add(1)
				return nil
			}
			item, visitor, ok := completeItem(number, line)
			if !ok {
				totals.malformed.Add(1)
				totals.example("malformed", "The line is no JSON object, or too long for a request.", number)
				return nil
			}
			return add(importItem{number, visitor, item})
		})
	})
}

// completeItem adds missing members to an item: a type, and an id that is the same in every import of this line. The
// rest of the item is unchanged, byte by byte. A line that is not a JSON object, or is too long for a request, has no
// item.
func completeItem(number int64, line []byte) (item []byte, visitor string, ok bool) {
	var members map[string]json.RawMessage
	if line[0] != '{' || json.Unmarshal(line, &members) != nil {
		return nil, "", false
	}
	if row := exported(members); row != nil {
		members = row
		if line, _ = json.Marshal(row); line == nil { // cannot fail for decoded members
			return nil, "", false
		}
	}
	missing := []byte("{")
	if word(members["type"]) == "" {
		missing = append(missing, `"type":"event",`...)
	}
	if word(members["id"]) == "" {
		missing = fmt.Appendf(missing, `"id":%q,`, lineID("imp_", number, line))
	}
	if len(missing) > 1 {
		line = withoutEmpty(line, members)
		rest := bytes.TrimSpace(line[1:])
		if rest[0] == '}' {
			missing = bytes.TrimSuffix(missing, []byte(","))
		}
		line = append(missing, rest...)
	}
	if visitor = word(members["distinctId"]); visitor == "" {
		visitor = word(members["anonymousId"])
	}
	return bytes.Clone(line), visitor, len(line) < longestItem-len(batchHead)-len(batchTail)
}

// withoutEmpty returns a line without empty type and id members, because the last of two members with the same name
// counts.
func withoutEmpty(line []byte, members map[string]json.RawMessage) []byte {
	found := false
	for _, name := range []string{"type", "id"} {
		if raw, present := members[name]; present && word(raw) == "" {
			found = true
			delete(members, name)
		}
	}
	if !found {
		return line
	}
	encoded, err := json.Marshal(members)
	if err != nil { // cannot fail for decoded members
		return line
	}
	return encoded
}

// word returns a text member, empty if it is absent or not a text. The server reports members of a wrong type.
func word(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}
