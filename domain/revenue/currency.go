package revenue

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// Currencies with a smallest unit other than the hundredth (ISO 4217), by the number of their decimals.
const (
	wholeCurrencies      = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
	thousandthCurrencies = "BHD IQD JOD KWD LYD OMR TND"
)

// IsCurrency reports whether a text has the form of a currency's code.
func IsCurrency(code string) bool {
	return len(code) == 3 && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// CurrencyDecimals returns the number of decimals of a currency's amounts.
func CurrencyDecimals(code string) int {
	switch {
	case strings.Contains(wholeCurrencies, code):
		return 0
	case strings.Contains(thousandthCurrencies, code):
		return 3
	}
	return 2
}

// RatesTo holds the prices of currencies in a target currency, by the days from which they hold.
type RatesTo struct {
	Currency string
	days     map[string][]dayRate
}

// dayRate is the value of a currency from a UTC day on, in trillionths.
type dayRate struct {
	day  int64
	rate int64
}

const dayMs = 24 * 60 * 60 * 1000

// NewRatesTo returns the rates into a currency among billing items.
func NewRatesTo(currency string, rows []BillingRow) *RatesTo {
	rates := &RatesTo{Currency: currency, days: map[string][]dayRate{}}
	type named struct {
		currency string
		day      int64
	}
	last := map[named]*BillingRow{}
	for n := range rows {
		row := &rows[n]
		if row.Kind != BillingRate || row.Target != currency {
			continue
		}
		name := named{currency: row.Subject, day: floorDay(row.Ts.UnixMilli())}
		if known := last[name]; known == nil || known.arrivedBefore(row) {
			last[name] = row
		}
	}
	for name, row := range last {
		rates.days[name.currency] = append(rates.days[name.currency], dayRate{name.day, row.Rate})
	}
	for _, days := range rates.days {
		sortRates(days)
	}
	return rates
}

func floorDay(ms int64) int64 {
	day := ms / dayMs
	if ms%dayMs < 0 {
		day--
	}
	return day
}

// Convert converts an amount into the currency of the rates with the rate of the day: the last one given for that day
// or for the latest day before it. It returns false if no rate is known.
func (r *RatesTo) Convert(cents int64, currency string, atMs int64) (int64, bool) {
	if currency == r.Currency {
		return cents, true
	}
	rate, known := rateOf(r.days[currency], floorDay(atMs))
	if !known {
		return 0, false
	}
	value := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(cents), big.NewInt(rate)), big.NewInt(RateUnit))
	for n := CurrencyDecimals(currency); n < CurrencyDecimals(r.Currency); n++ {
		value.Mul(value, big.NewRat(10, 1))
	}
	for n := CurrencyDecimals(r.Currency); n < CurrencyDecimals(currency); n++ {
		value.Mul(value, big.NewRat(1, 10))
	}
	return RoundCents(value), true
}

func sortRates(days []dayRate) {
	slices.SortFunc(days, func(a, b dayRate) int { return cmp.Compare(a.day, b.day) })
}

func rateOf(days []dayRate, day int64) (rate int64, known bool) {
	at, exact := slices.BinarySearchFunc(days, day, func(d dayRate, day int64) int { return cmp.Compare(d.day, day) })
	if !exact {
		at--
	}
	if at < 0 {
		return 0, false
	}
	return days[at].rate, true
}

// ExchangeRate is the value of one unit of a currency in another one, from a UTC day on.
type ExchangeRate struct {
	Currency string `json:"currency" required:"true" doc:"The currency that is converted, an ISO 4217 code."`
	To       string `json:"to" required:"true" doc:"The currency into which it converts."`
	Day      string `json:"day" required:"true" doc:"From which day of UTC it holds, YYYY-MM-DD."`
	Rate     string `json:"rate" required:"true" doc:"What one unit of currency is worth in the other one, a decimal number with at most 12 decimals."`
}

// maxRateBytes limits the text of a rate.
const maxRateBytes = 40

// Row returns the billing item of a rate in an environment, and the problems of its fields. The last rate given for a
// day holds.
func (e ExchangeRate) Row(environment uint64) (row BillingRow, problems []domain.FieldError) {
	wrong := func(field, message string) {
		problems = append(problems, domain.FieldError{Field: field, Code: "invalid_value", Message: message})
	}
	row = BillingRow{Environment: environment, Kind: BillingRate, Currency: strings.ToUpper(e.Currency), Target: strings.ToUpper(e.To)}
	if !IsCurrency(row.Currency) {
		wrong("currency", "currency is not a code of ISO 4217.")
	}
	if !IsCurrency(row.Target) || row.Target == row.Currency {
		wrong("to", "to is not a code of another currency.")
	}
	day, err := time.Parse(time.DateOnly, e.Day)
	if err != nil || day.Year() < 1970 || day.Year() > 2199 {
		wrong("day", "day is not a date, YYYY-MM-DD.")
	}
	value, ok := new(big.Rat), len(e.Rate) <= maxRateBytes && strings.Trim(e.Rate, "0123456789.") == ""
	if ok {
		value, ok = value.SetString(e.Rate)
	}
	if ok {
		row.Rate, ok = RateOf(value)
	}
	if !ok {
		wrong("rate", RateProblem)
	}
	row.Subject, row.ID, row.Ts = row.Currency, row.Target+e.Day, day
	return row, problems
}

// RateProblem is the message for a rate that RateOf refuses.
const RateProblem = "rate must be a positive number below 9 million with at most 12 decimals."

// RateOf returns a rate in trillionths; ok is false if the rate cannot be stored exactly.
func RateOf(value *big.Rat) (rate int64, ok bool) {
	exact := new(big.Rat).Mul(value, new(big.Rat).SetInt64(RateUnit))
	if !exact.IsInt() || exact.Sign() <= 0 || !exact.Num().IsInt64() {
		return 0, false
	}
	return exact.Num().Int64(), true
}
