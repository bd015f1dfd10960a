package demo

import (
	"net/http"
	"time"

	"svc/domain/destination"
)

// outboundSettings makes objects that would send data out of the service, but do not: a draft campaign, and a
// destination that is switched off.
func outboundSettings(time.Time) []Call {
	type object = map[string]any
	return []Call{
		{
			Method: http.MethodPost, Path: consolePath + "apps/{app}/campaigns", Unless: "/api/v1/apps/{app}/campaigns",
			Body: object{
				"name": "What is new in Harbor", "from": object{"name": "Harbor"}, "subject": "Boards that open at once", "preheader": "And reports for every plan",
				"text": "Hello {{firstName|friend}},\n\nboards open before their cards are there now, and every plan has reports.\n\nNo more letters: {{unsubscribeUrl}}\n",
			},
		},
		{
			Method: http.MethodPost, Path: consolePath + "apps/{app}/destinations", Unless: "/api/v1/apps/{app}/destinations",
			Body: object{
				"kind": destination.Webhook, "name": "Sales", "enabled": false, "config": object{"url": "https://example.com/conversions"},
				"mapping": []destination.Rule{{Event: "signed_up", DestinationEvent: "Lead"}, {Event: "subscribed", DestinationEvent: "Purchase"}},
			},
		},
	}
}
