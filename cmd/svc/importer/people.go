package importer

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// personColumns returns the columns of a file of people that have a meaning; others are traits. Columns that the
// service computes itself are not imported.
func personColumns() map[string]bool {
	known := map[string]bool{"distinctId": true, "distinctIds": true, "anonymousId": true, "traits": true, "ts": true, "lastSeenAt": true}
	for _, computed := range []string{
		"id", "company", "firstSource", "firstMedium", "firstCampaign", "firstReferrer", "firstUrl", "lastSource", "lastMedium", "lastCampaign", "lastReferrer", "lastUrl",
		"country", "region", "city", "device", "browser", "os", "firstSeenAt", "sessions", "events", "pageviews", "lifecycleStage", "stageSource", "tags", "crm",
	} {
		known[computed] = false
	}
	return known
}

// importPeople replays a file of people and prints the outcome of its rows.
func importPeople(ctx context.Context, flags importFlags, stdout, stderr io.Writer) error {
	var rows, items int64
	err := eachPerson(ctx, flags.file, func(row int64, person map[string]string) error {
		made, _ := itemsOfPerson(row, person) // an invalid row counts as one
		rows, items = rows+1, items+max(int64(len(made)), 1)
		return nil
	})
	if err != nil {
		return err
	}
	if rows == 0 {
		return fmt.Errorf("%s holds no person", flags.file)
	}
	fmt.Fprintf(stderr, "%s: %d people\n", flags.file, rows)
	var totals importTotals
	started := time.Now()
	progress := newProgress(stderr, items, &totals)
	err = sendItems(ctx, flags, &totals, progress, func(_ context.Context, add func(importItem) error) error {
		return eachPerson(ctx, flags.file, func(row int64, person map[string]string) error {
			items, err := itemsOfPerson(row, person)
			if err != nil {
				totals.malformed.Add(1)
				totals.example("malformed", err.Error(), row)
			}
			for _, item := range items {
				if err := add(item); err != nil {
					return err
				}
			}
			return nil
		})
	})
	progress.stop()
	totals.print(stdout, time.Since(started))
	totals.explain(stderr)
	return totals.verdict(ctx, err, flags)
}

// eachPerson calls do for every row of a file by the names of its columns. The first line, which names them, has the
// number 1.
func eachPerson(ctx context.Context, name string, do func(row int64, person map[string]string) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was read only
	var source io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		if source, err = gzip.NewReader(file); err != nil {
			return fmt.Errorf("inflating %s: %w", name, err)
		}
	}
	table := csv.NewReader(source)
	head, err := table.Read()
	if err != nil {
		return fmt.Errorf("reading the names of the columns of %s: %w", name, err)
	}
	head = slices.Clone(head)
	head[0] = strings.TrimPrefix(head[0], byteOrderMark)
	if !slices.Contains(head, "distinctId") {
		return fmt.Errorf("%s has no column distinctId; its first line must name the columns", name)
	}
	for row := int64(2); ; row++ {
		values, err := table.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		person := map[string]string{}
		for i, column := range head {
			person[column] = values[i]
		}
		if err := do(row, person); err != nil {
			return err
		}
	}
}

// itemsOfPerson returns the items of a row: an identify with the traits, and an alias for each further id. Their ids
// are the same in every import of the row. It returns items and an error if a part of the row is left out.
func itemsOfPerson(row int64, person map[string]string) ([]importItem, error) {
	main := strings.TrimSpace(person["distinctId"])
	if main == "" {
		return nil, errors.New("the row has no distinctId")
	}
	if domain.IsPlaceholderID(main) {
		return nil, errors.New(domain.PlaceholderProblem("distinctId"))
	}
	traits, err := traitsOf(person)
	if err != nil {
		return nil, err
	}
	var others []string
	if list := person["distinctIds"]; list != "" && json.Unmarshal([]byte(list), &others) != nil {
		return nil, errors.New("distinctIds is no list of texts as JSON")
	}
	text, _ := json.Marshal(person) // consists of texts
	identify := map[string]any{"type": "identify", "id": lineID("per_", row, text), "distinctId": main, "traits": traits, "context": map[string]string{"userAgent": "-"}}
	var skipped error // the row is imported without the ids that identify no person
	if other := person["anonymousId"]; other != "" && domain.IsPlaceholderID(other) {
		skipped = errors.New(domain.PlaceholderProblem("anonymousId"))
	} else if other != "" {
		identify["anonymousId"] = other
	}
	if at := cmp.Or(person["ts"], person["lastSeenAt"]); at != "" {
		identify["ts"] = at
	}
	items := []map[string]any{identify}
	for _, other := range others {
		switch {
		case other == main || other == "":
		case domain.IsPlaceholderID(other):
			skipped = errors.New(domain.PlaceholderProblem("distinctIds"))
		default:
			items = append(items, aliasOf(row, main, other, identify["ts"]))
		}
	}
	encoded := make([]importItem, 0, len(items))
	for _, item := range items {
		line, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		encoded = append(encoded, importItem{row, main, line})
	}
	return encoded, skipped
}

// aliasOf returns the item that links a further id to the person of a row, at the time of the row if it has one.
func aliasOf(row int64, main, other string, at any) map[string]any {
	alias := map[string]any{"type": "alias", "id": lineID("per_", row, []byte(main+"\n"+other)), "distinctId": main, "previousId": other, "context": map[string]string{"userAgent": "-"}}
	if at != nil {
		alias["ts"] = at
	}
	return alias
}

// traitsOf returns the traits of a row: the members of its column traits, and every column without another meaning.
// trait.<name> is the trait <name>. Texts become numbers or booleans only in the column traits.
func traitsOf(person map[string]string) (map[string]json.RawMessage, error) {
	traits := map[string]json.RawMessage{}
	if object := person["traits"]; object != "" && json.Unmarshal([]byte(object), &traits) != nil {
		return nil, errors.New("traits is no object as JSON")
	}
	_, whole := person["traits"]
	known := personColumns()
	for _, column := range slices.Sorted(maps.Keys(person)) {
		name := strings.TrimPrefix(column, "trait.")
		_, taken := known[column]
		if column == "company" && !whole {
			taken = false
		}
		if value := person[column]; value != "" && !taken && name != "" && traits[name] == nil {
			var text bytes.Buffer
			encoder := json.NewEncoder(&text)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(value); err != nil {
				return nil, err
			}
			traits[name] = bytes.TrimSpace(text.Bytes())
		}
	}
	return traits, nil
}
