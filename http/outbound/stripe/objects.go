package stripe

import (
	"bytes"
	"encoding/json"
)

// list is one page of a list.
type list[T any] struct {
	Data    []T  `json:"data"`
	HasMore bool `json:"has_more"`
}

// customer is a customer, or only its id if it was not expanded.
type customer struct {
	ID       string            `json:"id"`
	Email    string            `json:"email"`
	Metadata map[string]string `json:"metadata"`
	expanded bool
}

// UnmarshalJSON reads an id or an object.
func (c *customer) UnmarshalJSON(text []byte) error {
	type plain customer
	return eitherForm(text, &c.ID, func() error {
		c.expanded = true
		return json.Unmarshal(text, (*plain)(c))
	})
}

// eitherForm reads an id, null, or an object.
func eitherForm(text []byte, id *string, object func() error) error {
	text = bytes.TrimSpace(text)
	switch {
	case bytes.Equal(text, []byte("null")):
		return nil
	case len(text) > 0 && text[0] == '"':
		return json.Unmarshal(text, id)
	}
	return object()
}

// subscription is a subscription.
type subscription struct {
	ID                string            `json:"id"`
	Status            string            `json:"status"`
	Customer          customer          `json:"customer"`
	Currency          string            `json:"currency"`
	Livemode          bool              `json:"livemode"`
	Created           int64             `json:"created"`
	StartDate         int64             `json:"start_date"`
	TrialStart        int64             `json:"trial_start"`
	TrialEnd          int64             `json:"trial_end"`
	CanceledAt        int64             `json:"canceled_at"`
	EndedAt           int64             `json:"ended_at"`
	CancelAt          int64             `json:"cancel_at"`
	CancelAtPeriodEnd bool              `json:"cancel_at_period_end"`
	CurrentPeriodEnd  int64             `json:"current_period_end"` // Stripe has this field until 2025-03-31; later the items have it.
	PauseCollection   *pauseCollection  `json:"pause_collection"`
	Items             list[item]        `json:"items"`
	Discount          *discount         `json:"discount"` // Stripe has this field until 2025-03-31.
	Discounts         []discount        `json:"discounts"`
	Metadata          map[string]string `json:"metadata"`
}

type pauseCollection struct {
	Behavior string `json:"behavior"`
}

// item is one price of a subscription.
type item struct {
	ID               string     `json:"id"`
	Quantity         *int64     `json:"quantity"`
	Price            price      `json:"price"`
	Discounts        []discount `json:"discounts"`
	CurrentPeriodEnd int64      `json:"current_period_end"`
}

// price is a price.
type price struct {
	ID         string      `json:"id"`
	Nickname   string      `json:"nickname"`
	Currency   string      `json:"currency"`
	UnitAmount *int64      `json:"unit_amount"`
	Decimal    string      `json:"unit_amount_decimal"`
	Scheme     string      `json:"billing_scheme"`
	TiersMode  string      `json:"tiers_mode"`
	Tiers      []tier      `json:"tiers"`
	Product    product     `json:"product"`
	Recurring  *recurring  `json:"recurring"`
	Transform  *transforms `json:"transform_quantity"`
}

type recurring struct {
	Interval  string `json:"interval"`
	Count     int64  `json:"interval_count"`
	UsageType string `json:"usage_type"`
}

type transforms struct {
	DivideBy int64  `json:"divide_by"`
	Round    string `json:"round"`
}

// tier is a price from a quantity on; the last one has no end.
type tier struct {
	UpTo        *int64 `json:"up_to"`
	UnitAmount  *int64 `json:"unit_amount"`
	UnitDecimal string `json:"unit_amount_decimal"`
	FlatAmount  *int64 `json:"flat_amount"`
	FlatDecimal string `json:"flat_amount_decimal"`
}

// product is a product, or only its id.
type product struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// UnmarshalJSON reads an id or an object.
func (p *product) UnmarshalJSON(text []byte) error {
	type plain product
	return eitherForm(text, &p.ID, func() error { return json.Unmarshal(text, (*plain)(p)) })
}

// discount is a discount, or only its id if it was not expanded.
type discount struct {
	ID     string `json:"id"`
	Start  int64  `json:"start"`
	End    int64  `json:"end"`
	Coupon coupon `json:"coupon"` // Stripe has this field until 2025-09-30; later the source has it.
	Source struct {
		Coupon coupon `json:"coupon"`
	} `json:"source"`
}

// UnmarshalJSON reads an id or an object.
func (d *discount) UnmarshalJSON(text []byte) error {
	type plain discount
	return eitherForm(text, &d.ID, func() error { return json.Unmarshal(text, (*plain)(d)) })
}

// terms returns the coupon of a discount; known is false if only ids are present.
func (d *discount) terms() (c coupon, known bool) {
	c = d.Coupon
	if c.Duration == "" {
		c = d.Source.Coupon
	}
	return c, c.Duration != ""
}

// coupon is a coupon, or only its id.
type coupon struct {
	ID         string      `json:"id"`
	Duration   string      `json:"duration"`
	PercentOff json.Number `json:"percent_off"`
	AmountOff  *int64      `json:"amount_off"`
	Currency   string      `json:"currency"`
}

// UnmarshalJSON reads an id or an object.
func (c *coupon) UnmarshalJSON(text []byte) error {
	type plain coupon
	return eitherForm(text, &c.ID, func() error { return json.Unmarshal(text, (*plain)(c)) })
}

// invoice is an invoice.
type invoice struct {
	ID            string     `json:"id"`
	Status        string     `json:"status"`
	Customer      customer   `json:"customer"`
	Currency      string     `json:"currency"`
	Livemode      bool       `json:"livemode"`
	Created       int64      `json:"created"`
	AmountPaid    int64      `json:"amount_paid"`
	PaidOutOfBand bool       `json:"paid_out_of_band"`
	Subscription  string     `json:"subscription"`
	Lines         list[line] `json:"lines"`
	Discounts     []discount `json:"discounts"`
	Transitions   struct {
		PaidAt int64 `json:"paid_at"`
	} `json:"status_transitions"`
}

// line is a line of an invoice.
type line struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Amount    int64  `json:"amount"`
	Quantity  *int64 `json:"quantity"`
	Proration bool   `json:"proration"`
	Price     *price `json:"price"`
	Period    struct {
		Start int64 `json:"start"`
	} `json:"period"`
}

// charge is a charge, or only its id.
type charge struct {
	ID             string   `json:"id"`
	Status         string   `json:"status"`
	Captured       bool     `json:"captured"`
	AmountCaptured int64    `json:"amount_captured"`
	Currency       string   `json:"currency"`
	Livemode       bool     `json:"livemode"`
	Created        int64    `json:"created"`
	Customer       customer `json:"customer"`
}

// UnmarshalJSON reads an id or an object.
func (c *charge) UnmarshalJSON(text []byte) error {
	type plain charge
	return eitherForm(text, &c.ID, func() error { return json.Unmarshal(text, (*plain)(c)) })
}

// refund is a refund. It has no mode of its own: it has the mode of the key.
type refund struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Created  int64  `json:"created"`
	Charge   charge `json:"charge"`
}

// webhookEvent is an event.
type webhookEvent struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Created  int64  `json:"created"`
	Livemode bool   `json:"livemode"`
	Data     struct {
		Object   json.RawMessage            `json:"object"`
		Previous map[string]json.RawMessage `json:"previous_attributes"`
	} `json:"data"`
}
