package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// talks is the number of random conversations; 2000 by hand.
var talks = flag.Int("talks", 150, "random histories of a conversation")

// deed is something that may happen to a conversation.
type deed struct {
	// first says that there is no conversation yet.
	first  bool
	kind   string
	by     domain.User
	action string
	turn   int
	// reservation is the reservation that holds the turn.
	reservation string
}

func (d deed) String() string {
	return fmt.Sprintf("%s %s %s%s %d", d.kind, d.by.ID, d.action, d.reservation, d.turn)
}

// law is a conversation according to the tables of the specification: a second implementation of the rules, without
// messages and without a store.
type law struct {
	turn    int
	running bool
	ends    time.Time
	// heard is when the running turn was last reported; a write and a new activation count as well. kept is the id of
	// the present reservation, and keeps is its end.
	heard   time.Time
	kept    string
	keeps   time.Time
	ids     []string
	status  map[string]conversation.ActionStatus
	expires map[string]time.Time
}

func (l *law) clone() *law {
	other := *l
	other.ids, other.status, other.expires = slices.Clone(l.ids), map[string]conversation.ActionStatus{}, map[string]time.Time{}
	for id := range l.status {
		other.status[id], other.expires[id] = l.status[id], l.expires[id]
	}
	return &other
}

// at returns the status of an action at an instant, empty if it does not exist.
func (l *law) at(now time.Time, id string) conversation.ActionStatus {
	if l.status[id] == conversation.ActionProposed && !now.Before(l.expires[id]) {
		return conversation.ActionExpired
	}
	return l.status[id]
}

// busy returns the refusal of a turn, empty if one may begin.
func (l *law) busy(now time.Time, questions bool, reservation string) string {
	if l.alive(now) || l.kept != "" && l.kept != reservation && now.Before(l.keeps) {
		return "conflict turn_running 0"
	}
	waiting := 0
	for _, id := range l.ids {
		if l.at(now, id) == conversation.ActionProposed {
			waiting++
		}
	}
	if questions && waiting > 0 {
		return fmt.Sprintf("conflict actions_pending %d", waiting)
	}
	return ""
}

// alive reports whether a turn runs.
func (l *law) alive(now time.Time) bool {
	return l.running && now.Before(l.ends) && now.Sub(l.heard) < conversation.TurnLease
}

// lose ends a turn if its time is over or its heartbeats are missing; the action that it was executing has failed.
func (l *law) lose(now time.Time) {
	if l.running && !l.alive(now) {
		l.end()
	}
}

// end ends a turn; an action that it was executing and did not settle has failed.
func (l *law) end() {
	l.running = false
	for _, id := range l.ids {
		if l.status[id] == conversation.ActionExecuting {
			l.status[id] = conversation.ActionFailed
		}
	}
}

func (l *law) begin(now time.Time) {
	l.lose(now)
	l.turn, l.running, l.ends, l.heard = l.turn+1, true, now.Add(conversation.TurnTime+turnSlack), now
}

// decide returns the refusal of a decision on an action.
func (l *law) decide(now time.Time, d deed) string {
	second := d.kind == "second" || d.kind == "refuse"
	switch status := l.at(now, d.action); {
	case l.turn == 0, status == "":
		return "not_found "
	case second && (d.by.ID == member().ID || !outside(d.action)), !second && d.kind != "revoke" && d.by.ID != member().ID:
		return "not_found "
	case status != conversation.ActionProposed:
		return fmt.Sprintf("conflict already_decided %s0", status)
	case d.kind == "approve" && outside(d.action):
		return "forbidden second_operator_required"
	}
	return ""
}

// do applies a deed and returns its refusal, empty if it is accepted.
func (l *law) do(now time.Time, d deed) (refused string) {
	switch d.kind {
	case "ask":
		if d.by.ID != member().ID {
			return "not_found "
		}
		if refused = l.busy(now, true, ""); refused == "" {
			l.begin(now)
			l.kept = ""
		}
	case "reserve":
		if refused = l.busy(now, true, d.reservation); refused == "" {
			l.lose(now)
			l.kept, l.keeps = d.reservation, now.Add(conversation.TurnLease)
		}
	case "store":
		switch {
		case l.busy(now, true, d.reservation) != "":
			refused = l.busy(now, true, d.reservation)
		case d.turn != l.turn+1:
			refused = "conflict turn_over"
		default:
			l.begin(now)
			l.kept = ""
		}
	case "release":
		if l.kept == d.reservation {
			l.kept = ""
		}
	case "renew":
		switch {
		case l.turn == 0:
			return "not_found "
		case !l.alive(now) || d.turn != l.turn:
			return "conflict turn_over"
		}
		l.heard = now
	case "approve", "second":
		if refused = l.decide(now, d); refused == "" {
			refused = l.busy(now, false, "")
		}
		if refused == "" {
			l.begin(now)
			l.status[d.action] = conversation.ActionExecuting
		}
	case "reject", "revoke", "refuse":
		if refused = l.decide(now, d); refused == "" {
			l.status[d.action] = map[string]conversation.ActionStatus{"reject": conversation.ActionRejected, "refuse": conversation.ActionRejected, "revoke": conversation.ActionRevoked}[d.kind]
		}
	case "propose", "settle", "finish":
		switch {
		case l.turn == 0:
			return "not_found "
		case !l.alive(now) || d.turn != l.turn:
			return "conflict turn_over"
		case d.kind == "finish":
			l.end()
		case d.kind == "propose":
			l.ids, l.status[d.action], l.expires[d.action] = append(l.ids, d.action), conversation.ActionProposed, now.Add(conversation.ActionLifetime)
		case l.status[d.action] == "":
			return "not_found "
		default:
			l.status[d.action] = conversation.ActionExecuted
		}
	case "sweep":
		l.lose(now)
	}
	if refused == "" && d.kind != "reserve" && d.kind != "release" && d.kind != "sweep" {
		l.heard = now // each of the others is stored, or reports itself
	}
	return refused
}

// view is the visible state.
func (l *law) view(now time.Time) string {
	state, waiting := conversation.Idle, 0
	line := ""
	for _, id := range slices.Sorted(slices.Values(l.ids)) {
		status := l.at(now, id)
		if line += " " + id + "=" + string(status) + sent(id, status); status == conversation.ActionProposed {
			waiting++
		}
	}
	switch {
	case l.running:
		state = conversation.Running
	case waiting > 0:
		state = conversation.Awaiting
	}
	return fmt.Sprintf("turn %d %s%s", l.turn, state, line)
}

// do executes a deed on the real actor.
func (h *talk) do(d deed) error {
	ctx := context.Background()
	of := seed(d.by)
	of.Turn = d.turn
	var err error
	switch d.kind {
	case "ask":
		// A caller draws a new id for a new conversation; this one is made once.
		_, err = h.begin(d.by, d.by.ID == member().ID && d.first)
	case "reserve":
		question := asking(d.by, d.first)
		question.Reservation = d.reservation
		_, err = h.Reserve(ctx, question)
	case "store":
		question := asking(d.by, d.first)
		question.Reservation, question.Turn = d.reservation, d.turn
		_, err = h.Begin(ctx, question)
	case "release":
		err = h.Release(ctx, &conversation.TurnRequest{Conversation: of, Reservation: d.reservation})
	case "renew":
		err = h.Renew(ctx, &of)
	case "approve":
		_, err = h.Claim(ctx, &of, d.action, d.by, "yes")
	case "second":
		_, err = h.ClaimSecond(ctx, &of, d.action, d.by, "yes")
	case "refuse":
		_, err = h.DecideSecond(ctx, &of, d.action, d.by, "no")
	case "reject":
		_, err = h.Decide(ctx, &of, d.action, d.by, conversation.ActionRejected, "no")
	case "revoke":
		_, err = h.Decide(ctx, &of, d.action, d.by, conversation.ActionRevoked, "never")
	case "propose":
		call, effect := "call_"+d.action, conversation.EffectWrite
		if outside(d.action) {
			effect = conversation.EffectExternal
		}
		_, err = h.Append(ctx, &of, []conversation.Message{
			{Role: conversation.RoleAssistant, Calls: []conversation.ToolCall{{ID: call, Name: "goals_create", Input: json.RawMessage(`{}`)}}},
			{Role: conversation.RoleTool, Results: []conversation.ToolResult{{CallID: call, Name: "goals_create", Content: "waiting"}}},
		}, []conversation.Action{{
			ID: d.action, ConversationID: of.ID, CallID: call, Tool: "goals_create", Effect: effect, Status: conversation.ActionProposed,
			Input: json.RawMessage(`{}`), ProposedAt: time.Now(), ExpiresAt: time.Now().Add(conversation.ActionLifetime),
		}})
	case "settle":
		settled := conversation.Action{ID: d.action, Status: conversation.ActionExecuted, Result: &conversation.ActionResult{OK: true, Summary: "done"}}
		if outside(d.action) {
			settled.Sending = conversation.SendingSent
		}
		_, err = h.Settle(ctx, &of, &settled, "result")
	case "finish":
		_, err = h.Finish(ctx, &of, "")
	case "sweep":
		h.sweep()
	}
	return err
}

// seen returns the conversation as its member sees it. It checks that the record is sound: every call has one result,
// and the result of a decided action states the decision.
func (h *talk) seen() string {
	h.t.Helper()
	exchange, err := h.Get(context.Background(), domain.AppRef{Org: "acme", App: "web"}, member().ID, "cnv_1")
	if domain.CodeOf(err) == domain.CodeNotFound {
		return "turn 0 " + string(conversation.Idle)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	results := map[string]string{}
	for _, message := range exchange.Messages {
		for _, result := range message.Results {
			results[result.CallID] += result.Content
		}
	}
	line := fmt.Sprintf("turn %d %s", exchange.Conversation.Turn, exchange.Conversation.State)
	for _, action := range exchange.Actions {
		if line += " " + action.ID + "=" + string(action.Status); action.Sending != "" {
			line += "=" + string(action.Sending)
		}
		marks := map[conversation.ActionStatus]string{
			conversation.ActionProposed: "waiting", conversation.ActionExecuting: "waiting", conversation.ActionExecuted: "result", conversation.ActionFailed: "cut off", conversation.ActionRejected: "refused", conversation.ActionRevoked: "denied",
		}
		if content := results[action.CallID]; !strings.Contains(content, marks[action.Status]) {
			h.t.Errorf("%s is %s, and the model reads %q", action.ID, action.Status, content)
		}
	}
	h.queued(&exchange)
	return line
}

// history is one random life.
type history struct {
	*talk
	rng  *rand.Rand
	law  *law
	told []string
	// claimed counts the successful approvals of each action.
	claimed map[string]int
	// broken is the time of the last failure of the store.
	broken time.Time
	// places holds the questions that once had a reservation.
	places []deed
}

func (h *history) deed() deed {
	d := deed{kind: "ask", by: member(), turn: h.law.turn, first: h.law.turn == 0}
	if n := len(h.law.ids); n > 0 {
		d.action = h.law.ids[max(0, n-1-h.rng.IntN(min(n, 3)))]
	}
	switch h.rng.IntN(20) {
	case 0:
		d.by = stranger()
	case 1:
		d.turn--
	}
	kinds := []string{"ask", "ask", "approve", "approve", "reject", "revoke", "finish", "finish", "settle", "settle", "propose", "request", "second", "second", "refuse", "sweep", "reserve", "reserve", "store", "store", "store", "release", "renew", "renew"}
	switch d.kind = kinds[h.rng.IntN(len(kinds))]; d.kind {
	case "propose":
		d.action = fmt.Sprintf("act_%03d", len(h.told))
	case "request":
		d.kind, d.action = "propose", fmt.Sprintf("act_ext%03d", len(h.told))
	case "reserve":
		d.by, d.turn, d.reservation = member(), h.law.turn+1, fmt.Sprintf("rsv_%03d", len(h.told))
		h.places = append(h.places, d)
	case "store", "release":
		if len(h.places) == 0 {
			d.kind = "sweep"
			break
		}
		kind := d.kind
		d = h.places[max(0, len(h.places)-1-h.rng.IntN(2))]
		if d.kind = kind; d.first && h.law.turn > 0 {
			d.first = false // the caller that drew the id of a conversation makes it once
		}
	case "second", "refuse":
		if d.by = stranger(); h.rng.IntN(10) == 0 {
			d.by = member()
		}
	}
	if d.kind == "settle" { // a turn settles the action that it executes
		at := slices.IndexFunc(h.law.ids, func(id string) bool { return h.law.status[id] == conversation.ActionExecuting })
		if at < 0 {
			d.kind = "finish"
		} else {
			d.action = h.law.ids[at]
		}
	}
	return d
}

func refusalOf(err error) string {
	if err == nil {
		return ""
	}
	return refusal(err)
}

// together executes deeds concurrently and returns the refusal of each.
func (h *history) together(deeds ...deed) []string {
	refused := make([]string, len(deeds))
	var all sync.WaitGroup
	for i, d := range deeds {
		all.Go(func() { refused[i] = refusalOf(h.do(d)) })
	}
	all.Wait()
	for i, d := range deeds {
		if h.told = append(h.told, fmt.Sprintf("%v: %s", d, refused[i])); (d.kind == "approve" || d.kind == "second") && refused[i] == "" {
			h.claimed[d.action]++
		}
	}
	return refused
}

// settles compares the result with the law, for some order of the deeds.
func (h *history) settles(deeds []deed, refused []string) bool {
	now, view := time.Now(), h.seen()
	orders := map[int][][]int{0: {{}}, 1: {{0}}, 2: {{0, 1}, {1, 0}}}[len(deeds)]
	var fitting []*law
	for _, order := range orders {
		ruled := h.law.clone()
		fits := true
		for _, i := range order {
			if refused[i] == "unavailable " && deeds[i].kind == "reserve" && now.Sub(h.broken) < grain.FailedTime {
				continue // the store was known to be away, and no reservation was made
			}
			fits = ruled.do(now, deeds[i]) == refused[i] && fits
		}
		ruled.lose(now) // because of the read
		if fits && ruled.view(now) == view {
			fitting = append(fitting, ruled)
		}
	}
	if len(fitting) > 0 {
		h.law = fitting[0]
		if other := fitting[len(fitting)-1]; other.kept != h.law.kept || other.heard != h.law.heard {
			h.restart() // both orders explain it, and they differ in invisible state
		}
		return true
	}
	h.t.Errorf("no order of %v explains %q and %q; by the law it was %q\n%s", deeds, refused, view, h.law.view(now), strings.Join(h.told, "\n"))
	return false
}

// step executes one random event; it returns whether the law holds.
func (h *history) step() bool {
	switch h.rng.IntN(12) {
	case 0, 1:
		pause := []time.Duration{time.Second, conversation.TurnLease - time.Second, conversation.TurnLease, time.Minute, conversation.TurnTime + turnSlack, conversation.ActionLifetime}[h.rng.IntN(6)]
		time.Sleep(pause)
		if h.told = append(h.told, "pause "+pause.String()+": "); pause >= time.Minute { // it may have been idle for too long
			h.restart()
		}
		return h.settles(nil, nil)
	case 2:
		h.told = append(h.told, "restart: ")
		h.restart()
		return h.settles(nil, nil)
	case 3: // a write with a lost answer, or one that does not happen
		return h.faulty(h.deed())
	case 4, 5, 6:
		deeds := []deed{h.deed(), h.deed()}
		if deeds[0].kind == "sweep" || deeds[1].kind == "sweep" || deeds[0].action == deeds[1].action && deeds[0].kind == "propose" {
			return true
		}
		return h.settles(deeds, h.together(deeds...))
	}
	deeds := []deed{h.deed()}
	return h.settles(deeds, h.together(deeds...))
}

// restart ends the activation and its state in memory.
func (h *history) restart() {
	h.EvictAll()
	h.law.kept, h.law.heard = "", time.Now()
}

// faulty executes a deed while the store fails: it has happened completely or not at all.
func (h *history) faulty(d deed) bool {
	if d.kind == "sweep" || d.kind == "reserve" && time.Since(h.broken) < grain.FailedTime {
		return true
	}
	broken := errors.New("the store is away")
	h.faulted = true
	if h.rng.IntN(2) == 0 {
		h.store.FailPuts(1, broken)
	} else {
		h.store.LosePuts(1, broken)
	}
	refused := h.together(d)[0]
	h.store.FailPuts(0, nil)
	h.store.LosePuts(0, nil)
	h.broken = time.Now()
	done := h.law.clone()
	answer := done.do(h.broken, d)
	h.restart()
	done.kept, done.heard = "", h.broken
	now, view := time.Now(), h.seen()
	done.lose(now)
	h.law.lose(now)
	switch {
	case view == done.view(now) && (answer == refused || answer == ""):
		h.law = done
		return true
	case view == h.law.view(now) && (answer == refused || answer == ""):
		return true
	}
	h.t.Errorf("%v with a failing store: %q and %q; by the law %q or %q\n%s", d, refused, view, h.law.view(now), done.view(now), strings.Join(h.told, "\n"))
	return false
}

// TestRandomConversationsKeepTheLaw executes random events, also two at a time. Users ask, approve, reject and revoke;
// turns propose, settle and end; time passes; activations end and writes fail. It compares every answer and every state
// with the law.
func TestRandomConversationsKeepTheLaw(t *testing.T) {
	met := map[string]int{}
	for n := range *talks {
		talking(t, func(h *talk) {
			life := &history{talk: h, rng: rand.New(rand.NewPCG(uint64(n), 7)), claimed: map[string]int{}}
			life.law = &law{status: map[string]conversation.ActionStatus{}, expires: map[string]time.Time{}}
			for range 80 {
				if !life.step() {
					t.Errorf("history %d", n)
					return
				}
			}
			for id, times := range life.claimed {
				if times > 1 {
					t.Errorf("history %d: %s was approved %d times", n, id, times)
				}
			}
			for _, line := range life.told {
				_, answer, _ := strings.Cut(line, ": ")
				met[strings.Fields(line)[0]+" "+answer]++
			}
			for _, id := range life.law.ids {
				met[string(life.law.at(time.Now(), id))]++
			}
		})
	}
	for _, want := range []string{
		"ask ", "ask conflict turn_running 0", "ask conflict actions_pending 1", "ask not_found ", "approve ", "approve conflict already_decided expired0",
		"approve conflict already_decided rejected0", "approve conflict already_decided revoked0", "approve conflict already_decided executing0",
		"approve conflict already_decided executed0", "approve conflict already_decided failed0", "approve conflict turn_running 0", "approve not_found ",
		"second ", "second not_found ", "second conflict already_decided executing0", "second conflict already_decided executed0", "second conflict already_decided failed0",
		"second conflict already_decided expired0", "second conflict already_decided rejected0", "approve forbidden second_operator_required", "refuse ", "refuse not_found ",
		"reserve ", "reserve conflict turn_running 0", "reserve unavailable ", "store ", "store conflict turn_running 0", "store conflict turn_over", "renew ", "renew conflict turn_over",
		"reject ", "revoke ", "finish ", "finish conflict turn_over", "propose conflict turn_over",
		"executed", "failed", "rejected", "revoked", "expired",
	} {
		if met[want] == 0 {
			t.Errorf("no history met %q", want)
		}
	}
}
