package destinations

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc/domain"
	"svc/domain/destination"
)

// credentialOf opens the credential of a destination; it is the zero credential if there is no credential.
func credentialOf(opener Opener, d *destination.Destination) (credential destination.Credential, err error) {
	if !d.HasCredential() {
		return credential, nil
	}
	clear, err := opener.Open(d.ID, d.Sealed)
	if err != nil {
		return credential, fmt.Errorf("opening the credential of the destination %s: %w", d.ID, err)
	}
	if err := json.Unmarshal(clear, &credential); err != nil {
		return credential, fmt.Errorf("reading the credential of the destination %s: %w", d.ID, err)
	}
	return credential, nil
}

// dispatch makes one attempt for each of some conversions. Without a credential, all attempts fail.
func dispatch(ctx context.Context, sender Sender, opener Opener, d *destination.Destination, items []destination.DispatchItem) []destination.DispatchOutcome {
	credential, err := credentialOf(opener, d)
	problem := ""
	switch {
	case err != nil:
		problem = "credential_unreadable"
	case credential.Secret == "":
		problem = "credential_missing"
	default:
		return sender.Send(ctx, destination.DispatchRequest{Destination: d, Credential: credential, Items: items})
	}
	outcomes := make([]destination.DispatchOutcome, len(items))
	for i := range outcomes {
		outcomes[i].Error = problem
	}
	return outcomes
}

// recordOf returns the record of an attempt, without its status.
func recordOf(ref domain.AppRef, d string, item *destination.DispatchItem, outcome *destination.DispatchOutcome, now time.Time) destination.Dispatch {
	c := item.Conversion
	return destination.Dispatch{
		ID: item.ID, App: ref, DestinationID: d, CreatedAt: c.ReceivedAt, At: now, Conversion: c, EventID: c.EventID, EventName: c.Name, SourceEvent: c.SourceEvent,
		Attempts: item.Attempt, StatusCode: outcome.StatusCode, Latency: outcome.Latency, Error: outcome.Error, Request: outcome.Request, Response: outcome.Response,
	}
}
