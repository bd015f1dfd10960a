package main

import (
	"fmt"
	"net/url"
	"testing"
	"time"
)

// TestPagesOfTheFeedHoldEveryEvent sends events of one instant and one id by several
// visitors and reads them with every page size.
func TestPagesOfTheFeedHoldEveryEvent(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	const visitors = 16
	at := time.Now().Add(-time.Hour)
	var items []map[string]any
	for n := range visitors {
		items = append(items, item("same", fmt.Sprint("u", n), "/", at))
	}
	s.send(items...)
	s.settled()
	for _, limit := range []int{1, 3, 10, visitors} {
		seen, query := map[any]bool{}, url.Values{"limit": {fmt.Sprint(limit)}}
		for {
			page := s.get(appPath + "/events?" + query.Encode())
			for _, row := range page["data"].([]any) {
				seen[row.(map[string]any)["distinctId"]] = true
			}
			cursor, more := page["nextCursor"].(string)
			if !more {
				break
			}
			query.Set("cursor", cursor)
		}
		if len(seen) != visitors {
			t.Errorf("pages of %d hold %d of %d events", limit, len(seen), visitors)
		}
	}
}
