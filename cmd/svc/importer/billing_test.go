package importer

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBillingIsImported sends a table and checks the arriving items, and the messages about invalid rows.
func TestBillingIsImported(t *testing.T) {
	t.Parallel()
	var items []map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/revenue" {
			t.Errorf("the items go to %s", r.URL.Path)
		}
		zip, err := gzip.NewReader(r.Body)
		if err == nil {
			err = json.NewDecoder(zip).Decode(&items)
		}
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(`{"accepted":3,"rejected":[]}`))
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "billing.csv")
	const table = "\ufefftype,ts,subscriptionId,customerId,plan,status,currency,amountCents,quantity,interval,percentOff,discountEndsAt,paymentId,to,rate,day\n" +
		"subscription,2026-03-01T00:00:00Z,sub_1,ada,\"Team,\nlarge\",active,EUR,19.5,3,year,20,2026-06-01T00:00:00Z,,,,\n" +
		"payment,2026-03-01T00:00:00Z,,ada,,,EUR,7600,,,,,pay_1,,,\n" +
		"payment,2026-03-01T00:00:00Z,,ada,,,EUR,76 EUR,,,,,pay_2,,,\n" +
		"payment,short\n" +
		"rate,,,,,,EUR,,,,,,,USD,1.0832,2026-03-01\n"
	if err := os.WriteFile(file, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, notices strings.Builder
	if err := Run(context.Background(), []string{"billing", file, "--url", server.URL, "--key", "svc_sec_prod_x"}, &out, &notices); err != nil {
		t.Fatalf("%v\n%s", err, notices.String())
	}
	for _, sentence := range []string{"sent       3", "malformed  2"} {
		if !strings.Contains(out.String(), sentence) {
			t.Errorf("the summary lacks %q:\n%s", sentence, out.String())
		}
	}
	if want := `line 5: malformed: column amountCents (character 41): "76 EUR" is no number`; !strings.Contains(notices.String(), want) {
		t.Errorf("the notices lack %q:\n%s", want, notices.String())
	}
	text, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := items[0]["id"].(string)
	want := `[{"amountCents":19.5,"currency":"EUR","customerId":"ada","discounts":[{"endsAt":"2026-06-01T00:00:00Z","percentOff":20}],"id":"` + id + `","interval":"year","plan":"Team,\nlarge","quantity":3,"status":"active","subscriptionId":"sub_1","ts":"2026-03-01T00:00:00Z","type":"subscription"},` +
		`{"amountCents":7600,"currency":"EUR","customerId":"ada","paymentId":"pay_1","ts":"2026-03-01T00:00:00Z","type":"payment"},` +
		`{"currency":"EUR","day":"2026-03-01","rate":1.0832,"to":"USD","type":"rate"}]`
	if string(text) != want || !strings.HasPrefix(id, "imp_") {
		t.Errorf("what arrives is\n%s\nwant\n%s", text, want)
	}
}

// TestAHeadWithoutMeaningIsRefused names columns that no billing item has.
func TestAHeadWithoutMeaningIsRefused(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{"type,amount": `the column "amount" is unknown`, "type,type": "stands there twice", "currency,day": "no column type"} {
		if err := checkBillingHead(strings.Split(head, ",")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", head, err, want)
		}
	}
}
