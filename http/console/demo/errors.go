package demo

import (
	"fmt"
	"net/http"
	"time"
)

// errorSettings makes the alert rules for errors.
func errorSettings(time.Time) []Call {
	return []Call{{Method: http.MethodPost, Path: "/api/v1/apps/{app}/alerts", Body: map[string]any{"name": "New problem", "kind": "new_issue", "severity": "critical"}}}
}

// fault is one error of the product.
type fault struct {
	name, message, level string
	stack                string
	// from and to are the days between which it happens, and rate is its frequency per visit of the application's
	// pages.
	from, to int
	rate     float64
	server   bool
}

func faults() []fault {
	js := func(name string, frames ...string) string {
		stack := name
		for _, frame := range frames {
			stack += "\n    at " + frame
		}
		return stack
	}
	const app, vendor = Site + "/assets/app.js", Site + "/node_modules/react-dom/client.js"
	return []fault{
		{"TypeError", "Cannot read properties of undefined (reading 'columns')", "error", js("TypeError", "columnsOf ("+app+":812:19)", "Board ("+app+":1020:7)", "renderWithHooks ("+vendor+":4400:11)"), 8, 90, 0.06, false},
		{"ChunkLoadError", "Loading chunk 44 failed.", "warning", js("ChunkLoadError", "requireChunk ("+app+":31:11)", "openReports ("+app+":2210:3)"), 0, 90, 0.02, false},
		{"RangeError", "Invalid time value", "error", js("RangeError", "Date.toISOString (<anonymous>)", "dueDate ("+app+":1504:22)", "Card ("+app+":1411:9)"), 30, 58, 0.05, false},
		{"AbortError", "The user aborted a request.", "info", js("AbortError", "search ("+app+":2944:5)"), 0, 90, 0.02, false},
		{"SyntaxError", "Unexpected token '<', \"<!doctype \"... is not valid JSON", "error", js("SyntaxError", "JSON.parse (<anonymous>)", "readInbox ("+app+":3302:14)"), 44, 90, 0.03, false},
		{"QuotaExceededError", "The quota has been exceeded.", "warning", js("QuotaExceededError", "saveDraft ("+app+":905:9)"), 12, 90, 0.008, false},
		{"PaymentDeclined", "Card was declined: insufficient_funds", "error", js("PaymentDeclined", "charge (/srv/harbor/billing.js:88:11)", "subscribe (/srv/harbor/billing.js:41:9)"), 5, 90, 0.02, true},
		{"DatabaseError", "deadlock detected on relation cards", "fatal", js("DatabaseError", "query (/srv/harbor/node_modules/pg/client.js:526:17)", "moveCard (/srv/harbor/cards.js:210:5)"), 62, 68, 0.2, true},
		{"TimeoutError", "Report took longer than 30000 ms", "error", js("TimeoutError", "render (/srv/harbor/reports.js:77:13)", "exportReport (/srv/harbor/reports.js:12:3)"), 20, 90, 0.04, true},
		{"ReferenceError", "presence is not defined", "error", js("ReferenceError", "joinBoard ("+app+":1187:3)", "Board ("+app+":1031:5)"), 88, 90, 0.35, false},
	}
}

// crashes returns the errors of a day; they happen to registered visitors.
func crashes(d *day) (items []Item) {
	for _, v := range d.visits {
		if !v.member {
			continue
		}
		for n, fault := range faults() {
			if d.number < fault.from || d.number >= fault.to || d.random.Float64() >= fault.rate {
				continue
			}
			path, at := v.paths[len(v.paths)-1], v.begin.Add(time.Duration(20+d.random.IntN(300))*time.Second)
			item := Item{
				"type": "error", "id": fmt.Sprintf("%s-fault-%d", v.session, n), "ts": at, "name": fault.name, "message": fault.message, "level": fault.level, "stack": fault.stack,
				"release": release(d.number), "distinctId": v.user(), "anonymousId": v.anonymous(), "sessionId": v.session, "url": Site + path, "handled": fault.level != "fatal",
				"tags":    map[string]any{"plan": v.plan, "runtime": map[bool]string{true: "node", false: "browser"}[fault.server]},
				"context": map[string]any{"ip": v.address, "userAgent": v.agent},
				"breadcrumbs": []map[string]any{
					{"timestamp": v.begin.UTC().Format(time.RFC3339), "category": "navigation", "message": "/app → " + path},
					{"timestamp": at.Add(-2 * time.Second).UTC().Format(time.RFC3339), "category": "click", "message": "button.save"},
				},
			}
			items = append(items, item)
		}
	}
	return items
}

// release returns the release of a day; there is a new one every week.
func release(number int) string { return fmt.Sprintf("harbor@2.%d.0", number/7) }
