package traffic

import (
	"fmt"
	"time"
)

// Afterwards returns events of a separate visitor, a millisecond apart from an instant on. Goals that ended before must
// not count them. The number distinguishes several calls.
func Afterwards(settings Settings, number int, at time.Time) []*Sent {
	var out []*Sent
	at = at.UTC().Truncate(time.Millisecond)
	for i, name := range []string{"page_view", "signup", "purchase", "search", "page_view"} {
		s := &Sent{Environment: "production", Item: Item{
			Type: "event", Name: name, ID: fmt.Sprintf("after-%x-%d-%d", settings.Seed, number, i),
			Ts:         at.Add(time.Duration(i+1) * time.Millisecond),
			DistinctID: fmt.Sprintf("user-after-%d", number), URL: site + "/docs/start",
			Context: Context{IP: "8.8.8.8", UserAgent: agents()[0]},
		}}
		out = append(out, s)
	}
	return out
}
