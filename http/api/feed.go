package api

import (
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/http/route"
)

// FeedKeyset returns the keyset of a position in the feed, for a cursor.
func FeedKeyset(key event.Key) []string {
	return []string{strconv.FormatInt(key.Ts.UnixMilli(), 10), key.ID, strconv.FormatUint(key.Tie, 36)}
}

// FeedKey returns the position in the feed of a cursor, nil without a cursor.
func FeedKey(call *route.Call, cursor string) (*event.Key, error) {
	keyset, err := call.Keyset(cursor, 3)
	if keyset == nil || err != nil {
		return nil, err
	}
	millis, err := strconv.ParseInt(keyset[0], 10, 64)
	tie, err2 := strconv.ParseUint(keyset[2], 36, 64)
	if err != nil || err2 != nil {
		return nil, domain.Errorf(domain.CodeInvalidCursor, "The cursor does not belong to this list.")
	}
	return &event.Key{Ts: time.UnixMilli(millis).UTC(), ID: keyset[1], Tie: tie}, nil
}
