package importer

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// billingNumbers are the numeric columns of a file of billing items; the others hold texts.
func billingNumbers() []string {
	return []string{"amountCents", "quantity", "intervalCount", "rate", "percentOff", "amountOffCents"}
}

// billingColumns are the columns that a file of billing items may have.
func billingColumns() []string {
	return append(billingNumbers(),
		"type", "id", "ts", "subscriptionId", "customerId", "plan", "status", "currency", "interval", "discountEndsAt", "trialEndsAt", "endsAt", "paymentId", "refundId", "to", "day")
}

// decimalText matches a non-negative JSON number.
func decimalText() *regexp.Regexp { return regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`) }

// importBilling replays a file of billing items and exchange rates and prints the outcome of its rows.
func importBilling(ctx context.Context, flags importFlags, stdout, stderr io.Writer) error {
	var rows int64
	if err := eachBilling(ctx, flags.file, func(int64, []byte, error) error { rows++; return nil }); err != nil {
		return err
	}
	if rows == 0 {
		return fmt.Errorf("%s holds no billing item", flags.file)
	}
	fmt.Fprintf(stderr, "%s: %d rows\n", flags.file, rows)
	var totals importTotals
	started := time.Now()
	progress := newProgress(stderr, rows, &totals)
	err := sendItems(ctx, flags, &totals, progress, func(_ context.Context, add func(importItem) error) error {
		return eachBilling(ctx, flags.file, func(line int64, item []byte, problem error) error {
			if problem != nil {
				totals.malformed.Add(1)
				totals.example("malformed", problem.Error(), line)
				return nil
			}
			return add(importItem{line: line, encoded: item})
		})
	})
	progress.stop()
	totals.print(stdout, time.Since(started))
	totals.explain(stderr)
	return totals.verdict(ctx, err, flags)
}

// eachBilling calls do for every row of a file with its line and its item, or with the reason why it has none.
func eachBilling(ctx context.Context, name string, do func(line int64, item []byte, problem error) error) error {
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
	table.FieldsPerRecord = -1
	head, err := table.Read()
	if err != nil {
		return fmt.Errorf("reading the names of the columns of %s: %w", name, err)
	}
	head = slices.Clone(head)
	head[0] = strings.TrimPrefix(head[0], byteOrderMark)
	if err := checkBillingHead(head); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for {
		values, err := table.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		line, _ := table.FieldPos(0)
		item, problem := billingItem(head, values, func(field int) int { _, column := table.FieldPos(field); return column }, int64(line))
		if err := do(int64(line), item, problem); err != nil {
			return err
		}
	}
}

// checkBillingHead refuses a first line with unknown columns.
func checkBillingHead(head []string) error {
	known := billingColumns()
	for n, column := range head {
		switch {
		case !slices.Contains(known, column):
			return fmt.Errorf("line 1: the column %q is unknown; known are %s", column, strings.Join(known, ", "))
		case slices.Contains(head[:n], column):
			return fmt.Errorf("line 1: the column %s stands there twice", column)
		}
	}
	if !slices.Contains(head, "type") {
		return errors.New("line 1: there is no column type; the first line must name the columns")
	}
	return nil
}

// billingItem returns the item of a row. place returns the position of a field in its line.
func billingItem(head, values []string, place func(field int) int, line int64) ([]byte, error) {
	if len(values) != len(head) {
		return nil, fmt.Errorf("the row has %d fields, and the first line names %d", len(values), len(head))
	}
	item, discount := map[string]any{}, map[string]any{}
	for n, column := range head {
		value := strings.TrimSpace(values[n])
		if value == "" {
			continue
		}
		var said any = value
		if slices.Contains(billingNumbers(), column) {
			if len(value) > 40 || !decimalText().MatchString(value) {
				return nil, fmt.Errorf("column %s (character %d): %q is no number such as 1900 or 1.0832", column, place(n), value)
			}
			said = json.Number(value)
		}
		switch column {
		case "percentOff", "amountOffCents":
			discount[column] = said
		case "discountEndsAt":
			discount["endsAt"] = said
		default:
			item[column] = said
		}
	}
	if len(discount) > 0 {
		item["discounts"] = []any{discount}
	}
	if item["type"] == "subscription" && item["id"] == nil {
		item["id"] = lineID("imp_", line, []byte(strings.Join(values, "\x00")))
	}
	return json.Marshal(item)
}
