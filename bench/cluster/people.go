package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/bench/harness"
)

// The members of this file use several devices. Each device sends a page view before it is identified, is linked to its
// member, and sends another page view, through any node. Pairs of members are merged into one person, by two concurrent
// clients and in both directions. Through all faults, no link is lost or doubled, and no device belongs to another
// member. Each pair is one person through every node once a client received the confirmation.

const (
	// devicesEach is the number of devices per member, memberPause the time between two members.
	devicesEach = 3
	memberPause = 100 * time.Millisecond
	// mergePause is the time between two attempts to merge two members: both must be stored.
	mergePause = 200 * time.Millisecond
)

// people are the members, by their numbers from 0.
type people struct {
	mu      sync.Mutex
	members []*member
}

// add adds a member.
func (p *people) add(one *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = append(p.members, one)
}

// pair returns the member with a number if the next one has signed in as well.
func (p *people) pair(n int) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n+1 >= len(p.members) {
		return nil
	}
	return p.members[n]
}

// member is a person with devices.
type member struct {
	// links holds the outcome of each device's batch, as far as its client knows it.
	links [devicesEach]fate
	// merged is set if a client received the confirmation that the member and the previous one are one person, tried if
	// a client requested it.
	merged, tried bool
}

func memberName(n int) string         { return fmt.Sprintf("member-%d", n) }
func deviceName(n, at int) string     { return fmt.Sprintf("device-%d-%d", n, at) }
func (l *load) view(n, at int) string { return fmt.Sprintf("%sview-%d-%d", l.prefix, n, at) }

// startPeople lets members sign in one after another, and merges pairs of them.
func (l *load) startPeople(ctx context.Context, random *rand.Rand) {
	l.people = &people{}
	own, other := rand.New(rand.NewPCG(random.Uint64(), 5)), rand.New(rand.NewPCG(random.Uint64(), 6))
	l.wg.Go(func() { l.signIn(ctx, own) })
	l.wg.Go(func() {
		for n := 1; ctx.Err() == nil; time.Sleep(mergePause) {
			if one := l.people.pair(n); one != nil && l.mergeMembers(ctx, n, one, other) {
				n += 2
			}
		}
	})
}

// signIn lets one member after the other use its devices.
func (l *load) signIn(ctx context.Context, random *rand.Rand) {
	pace := time.NewTicker(memberPause)
	defer pace.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		one := &member{}
		l.people.add(one)
		for at := range devicesEach {
			one.links[at] = unknown
			body := fmt.Appendf(nil, `{"items":[{"type":"event","name":"$pageview","id":"%[1]s-a","anonymousId":%[2]q,"url":"https://acme.example/a","context":{"userAgent":%[5]q}},`+
				`{"type":"identify","id":"%[1]s-i","distinctId":%[3]q,"anonymousId":%[2]q,"traits":{"number":%[4]d},"context":{"userAgent":%[5]q}},`+
				`{"type":"event","name":"$pageview","id":"%[1]s-b","distinctId":%[3]q,"anonymousId":%[2]q,"url":"https://acme.example/b","context":{"userAgent":%[5]q}}]}`,
				l.view(n, at), deviceName(n, at), memberName(n), n, harness.UserAgents()[0])
			for ctx.Err() == nil {
				through := l.any(random)
				if status, _ := l.call(ctx, through, http.MethodPost, "/batch", through.Keys["development"].Secret, body); status == http.StatusAccepted {
					one.links[at] = acknowledged
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
}

// mergeMembers lets two clients merge a member and the previous one, in opposite directions. It reports whether they
// received the confirmation.
func (l *load) mergeMembers(ctx context.Context, n int, member *member, random *rand.Rand) bool {
	first, second := l.any(random), l.any(random)
	people, _, complete := l.listPeople(ctx, first)
	one, other := people[memberName(n-1)], people[memberName(n)]
	if !complete || one.ID == "" || other.ID == "" {
		return false // not stored yet
	}
	var told [2]bool
	var clients sync.WaitGroup
	ask := func(at int, through *node, into, from string) {
		body := fmt.Appendf(nil, `{"personId":%q}`, from)
		status, _ := l.call(ctx, through, http.MethodPost, "/apps/acme/web/people/"+into+"/merge?env=development", through.Token, body, http.StatusConflict)
		told[at] = status == http.StatusOK || status == http.StatusConflict
	}
	member.tried = true
	clients.Go(func() { ask(0, first, one.ID, other.ID) })
	clients.Go(func() { ask(1, second, other.ID, one.ID) })
	clients.Wait()
	member.merged = told[0] || told[1]
	return member.merged
}

// person is a row of the list of people.
type person struct {
	ID          string   `json:"id"`
	DistinctID  string   `json:"distinctId"`
	DistinctIDs []string `json:"distinctIds"`
	Pageviews   int      `json:"pageviews"`
}

// listPeople reads the people of the environment through a node, by each of their ids. It also returns the ids that
// several people share, which may happen during merges, and whether the list is complete.
func (l *load) listPeople(ctx context.Context, at *node) (found map[string]person, shared []string, complete bool) {
	found = map[string]person{}
	for cursor := ""; ; {
		status, answer := l.call(ctx, at, http.MethodGet, "/apps/acme/web/people?env=development&limit=200"+cursor, at.Token, nil)
		var page struct {
			Data       []person `json:"data"`
			NextCursor string   `json:"nextCursor"`
		}
		if status != http.StatusOK || json.Unmarshal(answer, &page) != nil {
			return found, shared, false
		}
		for _, one := range page.Data {
			for _, id := range one.DistinctIDs {
				if known, twice := found[id]; twice && known.ID != one.ID {
					shared = append(shared, id)
				}
				found[id] = one
			}
		}
		if page.NextCursor == "" {
			return found, shared, true
		}
		cursor = "&cursor=" + page.NextCursor
	}
}

// mergedAtRest is the number of first members that are merged in pairs when all nodes are back, if faults prevented it
// before.
const mergedAtRest = 8

// mergeTime is the time within which two members must be merged at rest: a request may have to be retried.
const mergeTime = 30 * time.Second

// checkPeople reads all members through every node.
func (l *load) checkPeople(ctx context.Context) {
	l.mergeAtRest(ctx)
	ids := map[string]string{}
	for _, at := range l.nodes.all {
		found, shared, complete := l.listPeople(ctx, at)
		if !complete || len(shared) > 0 {
			l.problem("the people listed through %s are whole: %t; several have the ids %q", at.name, complete, shared)
			continue
		}
		l.checkMembers(found, at.name, ids)
	}
}

// mergeAtRest merges the first members in pairs.
func (l *load) mergeAtRest(ctx context.Context) {
	members := l.people.members
	random := rand.New(rand.NewPCG(uint64(len(members)), 8))
	for n := 1; n < min(mergedAtRest, len(members)); n += 2 {
		if members[n].merged {
			continue
		}
		err := harness.Poll(ctx, "two members to be made one person at rest", mergeTime, mergePause, func(ctx context.Context) (bool, string) {
			return l.mergeMembers(ctx, n, members[n], random), "a list that lacks one, or an answer that says to come again"
		})
		if err != nil {
			l.problem("%s and %s: %v", memberName(n-1), memberName(n), err)
		}
	}
}

// checkMembers compares the listed people of a node with the members. ids collects the person of each member, which
// must be the same through every node.
func (l *load) checkMembers(found map[string]person, through string, ids map[string]string) {
	linked, merged := 0, 0
	for n, member := range l.people.members {
		if slices.ContainsFunc(member.links[:], func(of fate) bool { return of != acknowledged }) {
			continue // the run ended meanwhile
		}
		linked += devicesEach
		if l.checkMember(n, found, through) {
			merged++
		}
		name := memberName(n)
		if before := ids[name]; before != "" && before != found[name].ID {
			l.problem("%s is %s, and %s through %s", name, before, found[name].ID, through)
		}
		ids[name] = found[name].ID
	}
	fmt.Printf("%d devices are linked through %s, %d times two members are one person\n", linked, through, merged)
	if linked == 0 || merged == 0 {
		l.problem("no devices are linked through %s, or no members are one person: %d and %d", through, linked, merged)
	}
}

// checkMember compares a member with the acknowledged requests, and reports whether the member and the previous one are
// one person.
func (l *load) checkMember(n int, found map[string]person, through string) (together bool) {
	members, one := l.people.members, found[memberName(n)]
	together = slices.Contains(one.DistinctIDs, memberName(n-1))
	switch {
	case members[n].merged && !together:
		l.problem("%s and %s are two persons through %s; a client was told that they are one", memberName(n-1), memberName(n), through)
	case together && !members[n].tried:
		l.problem("%s and %s are one person through %s; nobody asked for it", memberName(n-1), memberName(n), through)
	}
	want, views := idsOf(n), 2*devicesEach
	if together {
		want, views = append(want, idsOf(n-1)...), 2*views
	}
	if next := n + 1; next < len(members) && members[next].tried && slices.Contains(one.DistinctIDs, memberName(next)) {
		return together // the next member is compared with the ids of both
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(one.DistinctIDs)); !slices.Equal(got, want) {
		l.problem("%s has the ids %s through %s, want %s", memberName(n), strings.Join(got, " "), through, strings.Join(want, " "))
	}
	if one.Pageviews != views {
		l.problem("%s has %d page views through %s, %d were acknowledged", memberName(n), one.Pageviews, through, views)
	}
	return together
}

// idsOf returns the ids of a member.
func idsOf(n int) []string {
	ids := []string{memberName(n)}
	for at := range devicesEach {
		ids = append(ids, deviceName(n, at))
	}
	return ids
}
