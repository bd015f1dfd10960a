package svc

import (
	"math/big"
	"strings"
	"time"
)

// ExchangeRate is what one unit of a currency is worth in another one, from a day of UTC on.
type ExchangeRate struct {
	Currency string `json:"currency" required:"true" doc:"The currency that is converted, an ISO 4217 code."`
	To       string `json:"to" required:"true" doc:"The currency into which it converts."`
	Day      string `json:"day" required:"true" doc:"From which day of UTC it holds, YYYY-MM-DD."`
	Rate     string `json:"rate" required:"true" doc:"What one unit of currency is worth in the other one, a decimal number with at most 12 decimals."`
}

// maxRateBytes bounds the text of a rate.
const maxRateBytes = 40

// Row returns the billing item of a rate in an environment, and what is wrong with it, by field. The last one given for a
// day holds.
func (e ExchangeRate) Row(environment uint64) (row BillingRow, problems []FieldError) {
	wrong := func(field, message string) {
		problems = append(problems, FieldError{Field: field, Code: "invalid_value", Message: message})
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

// RateProblem says what RateOf does not take.
const RateProblem = "rate must be a positive number below 9 million with at most 12 decimals."

// RateOf returns a rate in trillionths; ok is false for one that cannot be kept exactly.
func RateOf(value *big.Rat) (rate int64, ok bool) {
	exact := new(big.Rat).Mul(value, new(big.Rat).SetInt64(RateUnit))
	if !exact.IsInt() || exact.Sign() <= 0 || !exact.Num().IsInt64() {
		return 0, false
	}
	return exact.Num().Int64(), true
}
