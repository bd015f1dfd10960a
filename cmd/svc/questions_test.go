package main

import (
	"context"
	"maps"
	"sync"
	"testing"

	"svc/actors/grain"
	"svc/protos"
)

// questions counts the calls of actors by kind.
type questions struct {
	grain.Caller

	mu    sync.Mutex
	kinds map[string]int
}

func (q *questions) Call(ctx context.Context, call *protos.Call) (*protos.Answer, error) {
	q.mu.Lock()
	q.kinds[call.GetKind()]++
	q.mu.Unlock()
	return q.Caller.Call(ctx, call)
}

// taken returns the counts since the last call.
func (q *questions) taken() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	counts := q.kinds
	q.kinds = map[string]int{}
	return counts
}

// TestAReadAsksAnActorOnce counts the calls of each analytic read to tokens, organizations and applications: over a
// network every call is a hop.
func TestAReadAsksAnActorOnce(t *testing.T) {
	asked := &questions{kinds: map[string]int{}}
	s := startServerWith(t, t.TempDir(), nil, func(n *node) []module {
		return []module{{name: "questions", wire: func() error {
			asked.Caller = n.cluster
			n.identity.Actors, n.apps.Actors = asked, asked
			return nil
		}}}
	})
	s.post(appPath+"/goals", `{"name":"Signup","kind":"event","match":"signup"}`)
	funnel := s.post(appPath+"/funnels", `{"name":"Buying","steps":[{"kind":"path","match":"/pricing"},{"kind":"event","match":"signup"}]}`)["id"].(string)
	session := s.session()
	if got := s.call("GET", "/console/api/v1/apps/acme/web/share", session, nil, nil); got.status != 200 { // records the first use of the session
		t.Fatalf("%d %s", got.status, got.body)
	}
	want := map[string]int{"token": 1, "organization": 1, "application": 1}
	for path, token := range map[string]string{
		appPath + "/analytics/breakdown?dimension=path":             s.boot.Token,
		appPath + "/analytics/breakdown?dimension=path&search=sign": s.boot.Token,
		appPath + "/analytics/overview":                             s.boot.Token,
		appPath + "/analytics/timeseries?metric=conversions":        s.boot.Token,
		appPath + "/analytics/timeseries?metric=visitors":           s.boot.Token,
		appPath + "/analytics/retention":                            s.boot.Token,
		appPath + "/analytics/active-users":                         s.boot.Token,
		appPath + "/analytics/live":                                 s.boot.Token,
		appPath + "/analytics/goals":                                s.boot.Token,
		appPath + "/goals":                                          s.boot.Token,
		appPath + "/funnels":                                        s.boot.Token,
		appPath + "/funnels/" + funnel:                              s.boot.Token,
		appPath + "/funnels/" + funnel + "/results":                 s.boot.Token,
		appPath + "/events":                                         s.boot.Token,
		appPath + "/events/names":                                   s.boot.Token,
		"/console/api/v1/apps/acme/web/share":                       session,
	} {
		t.Run(path, func(t *testing.T) {
			asked.taken()
			if got := s.call("GET", path, token, nil, nil); got.status != 200 {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if got := asked.taken(); !maps.Equal(got, want) {
				t.Errorf("the read asked %v, want %v", got, want)
			}
		})
	}
}
