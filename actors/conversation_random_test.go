package actors

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

	"svc"
)

// talks is how many random conversations are lived through; 2000 by hand.
var talks = flag.Int("talks", 150, "random histories of a conversation")

// deed is something that may happen to a conversation.
type deed struct {
	// first says that there is no conversation yet.
	first  bool
	kind   string
	by     svc.User
	action string
	turn   int
}

func (d deed) String() string { return fmt.Sprintf("%s %s %s %d", d.kind, d.by.ID, d.action, d.turn) }

// law is a conversation as the tables of the specification have it: a second writing
// down of the rules, without messages and without a store.
type law struct {
	turn    int
	running bool
	ends    time.Time
	ids     []string
	status  map[string]svc.ActionStatus
	expires map[string]time.Time
}

func (l *law) clone() *law {
	other := *l
	other.ids, other.status, other.expires = slices.Clone(l.ids), map[string]svc.ActionStatus{}, map[string]time.Time{}
	for id := range l.status {
		other.status[id], other.expires[id] = l.status[id], l.expires[id]
	}
	return &other
}

// at is the status of an action at an instant, empty for one that there is not.
func (l *law) at(now time.Time, id string) svc.ActionStatus {
	if l.status[id] == svc.ActionProposed && !now.Before(l.expires[id]) {
		return svc.ActionExpired
	}
	return l.status[id]
}

// busy is the refusal of a turn, empty where one may begin.
func (l *law) busy(now time.Time, questions bool) string {
	if l.running && now.Before(l.ends) {
		return "conflict turn_running 0"
	}
	waiting := 0
	for _, id := range l.ids {
		if l.at(now, id) == svc.ActionProposed {
			waiting++
		}
	}
	if questions && waiting > 0 {
		return fmt.Sprintf("conflict actions_pending %d", waiting)
	}
	return ""
}

// lose ends a turn whose time is over; what it was executing has failed.
func (l *law) lose(now time.Time) {
	if !l.running || now.Before(l.ends) {
		return
	}
	l.end()
}

// end ends a turn; what it was executing and did not settle has failed.
func (l *law) end() {
	l.running = false
	for _, id := range l.ids {
		if l.status[id] == svc.ActionExecuting {
			l.status[id] = svc.ActionFailed
		}
	}
}

func (l *law) begin(now time.Time) {
	l.lose(now)
	l.turn, l.running, l.ends = l.turn+1, true, now.Add(svc.TurnTime+turnSlack)
}

// decide is the refusal of a decision on an action.
func (l *law) decide(now time.Time, d deed) string {
	second := d.kind == "second" || d.kind == "refuse"
	switch status := l.at(now, d.action); {
	case l.turn == 0, status == "":
		return "not_found "
	case second && (d.by.ID == member().ID || !outside(d.action)), !second && d.kind != "revoke" && d.by.ID != member().ID:
		return "not_found "
	case status != svc.ActionProposed:
		return fmt.Sprintf("conflict already_decided %s0", status)
	case d.kind == "approve" && outside(d.action):
		return "forbidden second_operator_required"
	}
	return ""
}

// do says how a deed is refused, empty where it is not, and what is then.
func (l *law) do(now time.Time, d deed) (refused string) {
	switch d.kind {
	case "ask":
		if d.by.ID != member().ID {
			return "not_found "
		}
		if refused = l.busy(now, true); refused == "" {
			l.begin(now)
		}
	case "approve", "second":
		if refused = l.decide(now, d); refused == "" {
			refused = l.busy(now, false)
		}
		if refused == "" {
			l.begin(now)
			l.status[d.action] = svc.ActionExecuting
		}
	case "reject", "revoke", "refuse":
		if refused = l.decide(now, d); refused == "" {
			l.status[d.action] = map[string]svc.ActionStatus{"reject": svc.ActionRejected, "refuse": svc.ActionRejected, "revoke": svc.ActionRevoked}[d.kind]
		}
	case "propose", "settle", "finish":
		switch {
		case l.turn == 0:
			return "not_found "
		case !l.running || d.turn != l.turn:
			return "conflict turn_over"
		case d.kind == "finish":
			l.end()
		case d.kind == "propose":
			l.ids, l.status[d.action], l.expires[d.action] = append(l.ids, d.action), svc.ActionProposed, now.Add(svc.ActionLifetime)
		case l.status[d.action] == "":
			return "not_found "
		default:
			l.status[d.action] = svc.ActionExecuted
		}
	case "sweep":
		l.lose(now)
	}
	return refused
}

// view is what anybody can see.
func (l *law) view(now time.Time) string {
	state, waiting := svc.ConversationIdle, 0
	line := ""
	for _, id := range slices.Sorted(slices.Values(l.ids)) {
		status := l.at(now, id)
		if line += " " + id + "=" + string(status) + sent(id, status); status == svc.ActionProposed {
			waiting++
		}
	}
	switch {
	case l.running:
		state = svc.ConversationRunning
	case waiting > 0:
		state = svc.ConversationAwaiting
	}
	return fmt.Sprintf("turn %d %s%s", l.turn, state, line)
}

// do does a deed for real.
func (h *talk) do(d deed) error {
	ctx := context.Background()
	of := seed(d.by)
	of.Turn = d.turn
	var err error
	switch d.kind {
	case "ask":
		// Who makes a conversation draws a new id for it; this one is made once.
		_, err = h.begin(d.by, d.by.ID == member().ID && d.first)
	case "approve":
		_, err = h.Claim(ctx, &of, d.action, d.by, "yes")
	case "second":
		_, err = h.ClaimSecond(ctx, &of, d.action, d.by, "yes")
	case "refuse":
		_, err = h.DecideSecond(ctx, &of, d.action, d.by, "no")
	case "reject":
		_, err = h.Decide(ctx, &of, d.action, d.by, svc.ActionRejected, "no")
	case "revoke":
		_, err = h.Decide(ctx, &of, d.action, d.by, svc.ActionRevoked, "never")
	case "propose":
		call, effect := "call_"+d.action, svc.EffectWrite
		if outside(d.action) {
			effect = svc.EffectExternal
		}
		_, err = h.Append(ctx, &of, []svc.Message{
			{Role: svc.RoleAssistant, Calls: []svc.ToolCall{{ID: call, Name: "goals_create", Input: json.RawMessage(`{}`)}}},
			{Role: svc.RoleTool, Results: []svc.ToolResult{{CallID: call, Name: "goals_create", Content: "waiting"}}},
		}, []svc.Action{{
			ID: d.action, ConversationID: of.ID, CallID: call, Tool: "goals_create", Effect: effect, Status: svc.ActionProposed,
			Input: json.RawMessage(`{}`), ProposedAt: time.Now(), ExpiresAt: time.Now().Add(svc.ActionLifetime),
		}})
	case "settle":
		settled := svc.Action{ID: d.action, Status: svc.ActionExecuted, Result: &svc.ActionResult{OK: true, Summary: "done"}}
		if outside(d.action) {
			settled.Sending = svc.SendingSent
		}
		_, err = h.Settle(ctx, &of, &settled, "result")
	case "finish":
		_, err = h.Finish(ctx, &of, "")
	case "sweep":
		h.sweep()
	}
	return err
}

// seen is what the conversation's member sees, and whether the record is sound: every
// call has one result, and that of a decided action says so.
func (h *talk) seen() string {
	h.t.Helper()
	exchange, err := h.Get(context.Background(), svc.AppRef{Org: "acme", App: "web"}, member().ID, "cnv_1")
	if svc.CodeOf(err) == svc.CodeNotFound {
		return "turn 0 " + string(svc.ConversationIdle)
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
		marks := map[svc.ActionStatus]string{
			svc.ActionProposed: "waiting", svc.ActionExecuting: "waiting", svc.ActionExecuted: "result", svc.ActionFailed: "cut off", svc.ActionRejected: "refused", svc.ActionRevoked: "denied",
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
	kinds := []string{"ask", "ask", "approve", "approve", "reject", "revoke", "finish", "finish", "settle", "settle", "propose", "request", "second", "second", "refuse", "sweep"}
	switch d.kind = kinds[h.rng.IntN(len(kinds))]; d.kind {
	case "propose":
		d.action = fmt.Sprintf("act_%03d", len(h.told))
	case "request":
		d.kind, d.action = "propose", fmt.Sprintf("act_ext%03d", len(h.told))
	case "second", "refuse":
		if d.by = stranger(); h.rng.IntN(10) == 0 {
			d.by = member()
		}
	}
	if d.kind == "settle" { // a turn settles what it executes
		at := slices.IndexFunc(h.law.ids, func(id string) bool { return h.law.status[id] == svc.ActionExecuting })
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

// together does deeds at once and says how each was refused.
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

// settles compares what happened with the law, for some order of the deeds.
func (h *history) settles(deeds []deed, refused []string) bool {
	now, view := time.Now(), h.seen()
	orders := [][]int{{0}}
	if len(deeds) == 2 {
		orders = [][]int{{0, 1}, {1, 0}}
	}
	for _, order := range orders {
		ruled := h.law.clone()
		fits := true
		for _, i := range order {
			fits = ruled.do(now, deeds[i]) == refused[i] && fits
		}
		if fits && ruled.view(now) == view {
			h.law = ruled
			return true
		}
	}
	h.t.Errorf("no order of %v explains %q and %q; by the law it was %q\n%s", deeds, refused, view, h.law.view(now), strings.Join(h.told, "\n"))
	return false
}

// step lets something happen; it says whether the law holds.
func (h *history) step() bool {
	switch h.rng.IntN(12) {
	case 0, 1:
		time.Sleep([]time.Duration{time.Second, time.Minute, svc.TurnTime + turnSlack, svc.ActionLifetime}[h.rng.IntN(4)])
		return true
	case 2:
		h.EvictAll()
		h.told = append(h.told, "restart")
		return true
	case 3: // a write whose answer is lost, or which does not happen
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

// faulty does a deed while the store fails: it has happened or not, and nothing between.
func (h *history) faulty(d deed) bool {
	if d.kind == "sweep" {
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
	now, view := time.Now(), h.seen()
	done := h.law.clone()
	answer := done.do(now, d)
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

// TestRandomConversationsKeepTheLaw has people ask, approve, reject and revoke, turns
// propose, settle and end, time pass, activations end and writes fail in random orders,
// two at a time as well, and compares every answer and every state with the law.
func TestRandomConversationsKeepTheLaw(t *testing.T) {
	met := map[string]int{}
	for n := range *talks {
		talking(t, func(h *talk) {
			life := &history{talk: h, rng: rand.New(rand.NewPCG(uint64(n), 7)), claimed: map[string]int{}}
			life.law = &law{status: map[string]svc.ActionStatus{}, expires: map[string]time.Time{}}
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
		"reject ", "revoke ", "finish ", "finish conflict turn_over", "propose conflict turn_over",
		"executed", "failed", "rejected", "revoked", "expired",
	} {
		if met[want] == 0 {
			t.Errorf("no history met %q", want)
		}
	}
}
