package revenue

import (
	"reflect"
	"testing"
	"time"
)

func TestAnExchangeRateIsABillingItem(t *testing.T) {
	t.Parallel()
	row, problems := ExchangeRate{Currency: "eur", To: "USD", Day: "2026-03-01", Rate: "1.0832"}.Row(7)
	want := BillingRow{
		Environment: 7, Kind: BillingRate, Subject: "EUR", ID: "USD2026-03-01", Ts: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		Currency: "EUR", Target: "USD", Rate: 1_083_200_000_000,
	}
	if len(problems) != 0 || !reflect.DeepEqual(row, want) {
		t.Errorf("the item is %+v, want %+v; %v", row, want, problems)
	}
	for _, c := range []struct {
		rate  ExchangeRate
		field string
	}{
		{ExchangeRate{"euro", "USD", "2026-03-01", "1"}, "currency"},
		{ExchangeRate{"EUR", "eur", "2026-03-01", "1"}, "to"},
		{ExchangeRate{"EUR", "USD", "1.3.2026", "1"}, "day"},
		{ExchangeRate{"EUR", "USD", "2026-03-01", "0"}, "rate"},
		{ExchangeRate{"EUR", "USD", "2026-03-01", "-1"}, "rate"},
		{ExchangeRate{"EUR", "USD", "2026-03-01", "1e3"}, "rate"},
		{ExchangeRate{"EUR", "USD", "2026-03-01", "1/3"}, "rate"},
		{ExchangeRate{"EUR", "USD", "2026-03-01", "0.0000000000001"}, "rate"},
		{ExchangeRate{"EUR", "USD", "2026-03-01", "9300000"}, "rate"},
		{ExchangeRate{"EUR", "USD", "2026-03-01", ""}, "rate"},
	} {
		if _, problems := c.rate.Row(7); len(problems) != 1 || problems[0].Field != c.field {
			t.Errorf("%+v has the problems %+v, want one of %s", c.rate, problems, c.field)
		}
	}
}
