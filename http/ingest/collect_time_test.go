package ingest

import (
	"errors"
	"strings"
	"testing"

	"svc/domain"
)

// TestARefusedTimeNamesTheFormat sends times of other forms in every kind of item; nothing else of the batch is lost.
func TestARefusedTimeNamesTheFormat(t *testing.T) {
	t.Parallel()
	const form = ` must be an ISO 8601 timestamp with a zone (RFC 3339), such as "2026-11-27T10:00:00Z" or "2026-11-27T12:00:00.250+02:00".`
	for name, ts := range map[string]string{
		"seconds since 1970":      `1764237600`,
		"milliseconds":            `1764237600000`,
		"seconds in a text":       `"1764237600"`,
		"fractions of seconds":    `1764237600.25`,
		"RFC 1123":                `"Fri, 27 Nov 2026 10:00:00 GMT"`,
		"RFC 1123 with a number":  `"Fri, 27 Nov 2026 10:00:00 +0000"`,
		"local":                   `"2026-11-27T10:00:00"`,
		"a space for the T":       `"2026-11-27 10:00:00Z"`,
		"a zone without colon":    `"2026-11-27T10:00:00+0530"`,
		"a day":                   `"2026-11-27"`,
		"no seconds":              `"2026-11-27T10:00Z"`,
		"a date of JavaScript":    `"Fri Nov 27 2026 10:00:00 GMT+0000"`,
		"a day that is none":      `"2026-11-31T10:00:00Z"`,
		"true":                    `true`,
		"an object":               `{"$date":"2026-11-27T10:00:00Z"}`,
		"spaces around the value": `" 2026-11-27T10:00:00Z "`,
	} {
		for item, of := range map[string]struct {
			kind itemKind
			body string
		}{
			"event":  {itemEvent, `{"name":"order","distinctId":"ada","ts":` + ts + `}`},
			"error":  {itemError, `{"name":"Broken","ts":` + ts + `}`},
			"metric": {itemMetric, `{"name":"load","kind":"gauge","value":1,"ts":` + ts + `}`},
		} {
			t.Run(name+": "+item, func(t *testing.T) {
				t.Parallel()
				collect, _ := proving(&logOf{})
				sub, err := accept(t, collect, "secret", `[`+of.body+`,`+strings.Replace(of.body, ts, `"`+collectNoon().Format("2006-01-02T15:04:05Z07:00")+`"`, 1)+`]`, of.kind)
				if err != nil || sub.accepted != 1 || len(sub.rejected) != 1 || !strings.HasSuffix(sub.rejected[0].Message, "ts"+form) {
					t.Errorf("%v, %d accepted, %v", err, sub.accepted, sub.rejected)
				}
			})
		}
		t.Run(name+": sentAt", func(t *testing.T) {
			t.Parallel()
			collect, _ := proving(&logOf{})
			sub, err := accept(t, collect, "secret", `{"sentAt":`+ts+`,"items":[{"type":"event","name":"order","distinctId":"ada","ts":"2026-11-20T10:00:00Z"}]}`, itemAny)
			message := ""
			if problem, refused := errors.AsType[*domain.Error](err); refused {
				message = problem.Fields[0].Message
			} else if len(sub.rejected) == 1 {
				message = sub.rejected[0].Message
			}
			if !strings.HasSuffix(message, "sentAt"+form) {
				t.Errorf("%v, %v", err, sub.rejected)
			}
		})
	}
}
