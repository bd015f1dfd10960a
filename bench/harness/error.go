package harness

import (
	"strconv"
	"time"
)

// With ErrorFrames and ErrorCrumbs, a reference error has about 8 KiB.
const (
	ErrorFrames = 28
	ErrorCrumbs = 32
)

// AppendErrors appends a list of size reference errors, each of a random one of issues issues.
func (g *Generator) AppendErrors(out []byte, size, issues int, ts time.Time) []byte {
	out = append(out, '[')
	for n := range size {
		if n > 0 {
			out = append(out, ',')
		}
		out = g.AppendError(out, g.random.IntN(issues), ts)
	}
	return append(out, ']')
}

// AppendError appends one reference error of an issue: frames, breadcrumbs, tags and extra data as an SDK sends them.
func (g *Generator) AppendError(out []byte, issue int, ts time.Time) []byte {
	out = append(out, `{"type":"error","id":"`...)
	out = g.appendID(out)
	out = append(out, `","ts":"`...)
	out = ts.UTC().AppendFormat(out, "2006-01-02T15:04:05.000Z")
	out = append(out, `","distinctId":"user-`...)
	out = strconv.AppendInt(out, int64(g.random.IntN(Users)), 10)
	out = append(out, `","name":"TypeError","message":"order `...)
	out = strconv.AppendUint(out, g.random.Uint64()%1_000_000, 10)
	out = append(out, ` of the cart has no price","release":"shop@1.`...)
	out = strconv.AppendInt(out, int64(g.random.IntN(20)), 10)
	out = append(out, `.0","handled":false,"mechanism":"onerror","frames":[`...)
	for n := range ErrorFrames {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"file":"https://shop.example.com/assets/pages/checkout/index-BxT3k9aZ.js","function":"Checkout.step`...)
		out = strconv.AppendInt(out, int64(n), 10)
		if n == 0 {
			// The throwing function identifies the issue, in letters, because grouping ignores numbers.
			out = append(out, "Of"...)
			for left := issue; ; left /= 26 {
				out = append(out, byte('a'+left%26))
				if left < 26 {
					break
				}
			}
		}
		out = append(out, `","line":1,"column":`...)
		out = strconv.AppendInt(out, int64(1000+n*37), 10)
		out = append(out, `,"inApp":true}`...)
	}
	out = append(out, `],"breadcrumbs":[`...)
	for n := range ErrorCrumbs {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"timestamp":"2026-11-20T12:00:00.000Z","category":"ui.click","message":"button#step-`...)
		out = strconv.AppendUint(out, g.random.Uint64()%1000, 10)
		out = append(out, ` in form.checkout"}`...)
	}
	return append(out, `],"tags":{"plan":"pro","region":"eu-1","feature":"new-checkout"},"extra":{"cart":{"items":3,"total":129.9}},"request":{"method":"POST","url":"https://shop.example.com/api/checkout","status":500},"url":"https://shop.example.com/checkout?step=2"}`...)
}
