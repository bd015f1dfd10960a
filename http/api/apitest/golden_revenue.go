package apitest

import (
	"fmt"
	"time"

	"svc/domain/revenue"
)

// revenueSteps lists the requests of revenue.
func revenueSteps() []step {
	const revenue, billing = "/api/v1/apps/acme/web/revenue", "/console/api/v1/apps/acme/web/billing"
	return []step{
		{name: "revenue.overview", as: owner, method: "GET", path: revenue + "/overview"},
		{name: "revenue.overview-year", as: viewer, method: "GET", path: revenue + "/overview?range=12m"},
		{name: "revenue.overview-custom", as: owner, method: "GET", path: revenue + "/overview?range=custom:2026-03-02..2026-03-20"},
		{name: "revenue.overview-nothing-connected", as: owner, method: "GET", path: revenue + "/overview?env=development&range=7d"},
		{name: "revenue.overview-invalid", as: owner, method: "GET", path: revenue + "/overview?env=moon&range=today"},
		{name: "revenue.overview-no-token", as: nobody, method: "GET", path: revenue + "/overview"},
		{name: "revenue.movements", as: owner, method: "GET", path: revenue + "/movements?range=90d&limit=3", keep: map[string]string{"movements": "nextCursor"}},
		{name: "revenue.movements-next", as: owner, method: "GET", path: revenue + "/movements?range=90d&limit=3&cursor={movements}"},
		{name: "revenue.movements-churn", as: owner, method: "GET", path: revenue + "/movements?range=90d&kind=churn"},
		{name: "revenue.movements-masked", as: viewer, method: "GET", path: revenue + "/movements?range=90d&kind=new"},
		{name: "revenue.movements-invalid", as: owner, method: "GET", path: revenue + "/movements?kind=growth&limit=0&range=14d"},
		{name: "revenue.movements-foreign-cursor", as: owner, method: "GET", path: revenue + "/movements?cursor=bm9wZQ"},
		{name: "console.billing.list-empty", as: session, method: "GET", path: billing},
		{name: "console.billing.put", as: session, method: "PUT", path: billing + "/stripe", body: `{"provider":"stripe","environment":"staging","enabled":false,"customers":"email","apiKey":"rk_test_51Mabc","signingSecret":"whsec_abc"}`},
		{name: "console.billing.put-keeps-secrets", as: session, method: "PUT", path: billing + "/stripe", body: `{"provider":"stripe","environment":"staging","enabled":false}`},
		{name: "console.billing.put-generic", as: session, method: "PUT", path: billing + "/invoices", body: `{"provider":"generic"}`},
		{name: "console.billing.put-rates", as: session, method: "PUT", path: billing + "/invoices", body: `{"provider":"generic","rates":[{"currency":"CHF","to":"USD","day":"2026-03-01","rate":"1.1275"}]}`},
		{name: "console.billing.put-rates-invalid", as: session, method: "PUT", path: billing + "/invoices", body: `{"provider":"generic","rates":[{"currency":"CHF","to":"CHF","day":"1.3.2026","rate":"1/3"}]}`},
		{name: "console.billing.put-test-mode", as: session, method: "PUT", path: billing + "/live", body: `{"provider":"stripe","apiKey":"rk_test_51Mabc"}`},
		{name: "console.billing.put-no-key", as: session, method: "PUT", path: billing + "/live", body: `{"provider":"stripe"}`},
		{name: "console.billing.put-invalid", as: session, method: "PUT", path: billing + "/Live", body: `{"provider":"paddle","environment":"moon","customers":"phone","apiKey":"abc"}`},
		{name: "console.billing.put-other-provider", as: session, method: "PUT", path: billing + "/stripe", body: `{"provider":"generic"}`},
		{name: "console.billing.list", as: session, method: "GET", path: billing},
		{name: "revenue.overview-connected", as: owner, method: "GET", path: revenue + "/overview?env=staging&range=7d"},
		{name: "console.billing.delete", as: session, method: "DELETE", path: billing + "/stripe"},
		{name: "console.billing.delete-generic", as: session, method: "DELETE", path: billing + "/invoices"},
		{name: "console.billing.delete-again", as: session, method: "DELETE", path: billing + "/stripe"},
	}
}

// FixtureBilling returns the billing items of the application acme/web: four subscriptions of three customers in two currencies.
func FixtureBilling(now time.Time) []revenue.BillingRow {
	at := func(days int) time.Time { return now.AddDate(0, 0, -days).Truncate(time.Millisecond) }
	state := func(subscription, customer string, days int, status revenue.SubscriptionStatus, plan, currency string, cents int64) revenue.BillingRow {
		return revenue.BillingRow{
			Kind: revenue.BillingSubscription, Subject: subscription, ID: fmt.Sprint("bil_", subscription, days), Ts: at(days), ReceivedAt: at(days),
			Customer: customer, Plan: plan, Status: status, Currency: currency, Cents: cents,
		}
	}
	payment := func(kind revenue.BillingKind, id string, days int, currency string, cents int64) revenue.BillingRow {
		return revenue.BillingRow{Kind: kind, Subject: id, ID: id, Ts: at(days), ReceivedAt: at(days), Customer: "visitor-2", Currency: currency, Cents: cents}
	}
	return []revenue.BillingRow{
		state("sub_1", "ada@acme.example", 80, revenue.SubscriptionTrialing, "Team", "USD", 9900),
		state("sub_1", "ada@acme.example", 66, revenue.SubscriptionActive, "Team", "USD", 9900),
		state("sub_1", "ada@acme.example", 20, revenue.SubscriptionActive, "Team", "USD", 14900),
		state("sub_2", "visitor-2", 70, revenue.SubscriptionActive, "Pro", "EUR", 2900),
		state("sub_2", "visitor-2", 9, revenue.SubscriptionCanceled, "Pro", "EUR", 0),
		state("sub_3", "ada@acme.example", 12, revenue.SubscriptionActive, "Add-on", "USD", 1000),
		state("sub_4", "visitor-3", 5, revenue.SubscriptionActive, "Pro", "GBP", 2500),
		payment(revenue.BillingPayment, "pay_1", 66, "USD", 9900), payment(revenue.BillingPayment, "pay_2", 40, "EUR", 2900), payment(revenue.BillingPayment, "pay_3", 20, "USD", 14900),
		payment(revenue.BillingPayment, "pay_4", 5, "GBP", 2500), payment(revenue.BillingRefund, "re_1", 8, "EUR", 1450),
		{Kind: revenue.BillingRate, Subject: "EUR", Target: "USD", ID: "USD", Ts: at(90), ReceivedAt: at(90), Rate: revenue.RateUnit / 100 * 108},
	}
}
