package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"svc/bench/recount/reference"
	"svc/bench/recount/traffic"
)

// Settings describe a run.
type Settings struct {
	Seed uint64
	// Visitors is the number of visitors that are generated for each application.
	Visitors int
	// Families are generated for one more application and send in Rounds. After each round, members change people and
	// erase some, and the server is restarted, unless there is only one round.
	Families, Rounds, Erasures int
	// Restart ends the server after a round, in order or like a crash, and starts it again.
	Restart func(ctx context.Context, round int) error
	// Combinations is the number of questions, Workers the number of concurrent ones.
	Combinations int
	Workers      int
	// Only asks one question, by its number from 1; 0 asks all.
	Only int
	// Now is the latest moment of the traffic.
	Now time.Time
	// Drained waits until everything that was accepted can be read.
	Drained func(context.Context) error
	// Tell receives progress messages, and each differing answer at once.
	Tell func(format string, args ...any)
}

// Suite is one run against one server.
type Suite struct {
	Settings

	server  *Server
	routes  map[string]bool
	missing []string
	apps    []*app
	// families is the application of the families, or nil.
	families *app

	lock  sync.Mutex
	asked map[string]int
}

// Report is the result of a run.
type Report struct {
	Events int
	// Asked counts the questions by endpoint.
	Asked    map[string]int
	Missing  []string
	Failures []Failure
}

// Failure is one answer that differs.
type Failure struct {
	Number      int
	Question    string
	Differences []string
}

// shownDifferences limits the shown differences of one answer.
const shownDifferences = 8

// String describes the failure with the flags that repeat it.
func (f *Failure) String() string {
	shown := f.Differences
	more := ""
	if len(shown) > shownDifferences {
		more = fmt.Sprintf("\n    … and %d more", len(shown)-shownDifferences)
		shown = shown[:shownDifferences]
	}
	return fmt.Sprintf("combination %d: GET %s\n    %s%s", f.Number, f.Question, strings.Join(shown, "\n    "), more)
}

// New prepares a run.
func New(server *Server, settings Settings) *Suite {
	return &Suite{Settings: settings, server: server, routes: map[string]bool{}, asked: map[string]int{}}
}

// Run fills the server, reads everything back, and asks.
func (s *Suite) Run(ctx context.Context) (*Report, error) {
	if err := s.findRoutes(ctx); err != nil {
		return nil, err
	}
	report := &Report{Asked: s.asked, Missing: s.missing}
	for n, zone := range zones() {
		a, err := s.open(ctx, zone, zone)
		if err != nil {
			return nil, fmt.Errorf("opening an application in %s: %w", zone, err)
		}
		a.sent = traffic.Plan(traffic.Settings{Seed: s.Seed + uint64(n), Visitors: s.Visitors, Zone: a.zone, Now: s.Now})
		if err := s.send(ctx, a, a.sent); err != nil {
			return nil, fmt.Errorf("sending: %w", err)
		}
		if err := s.endGoals(ctx, a, n); err != nil {
			return nil, fmt.Errorf("deleting goals: %w", err)
		}
		report.Events += len(a.sent)
		s.apps = append(s.apps, a)
	}
	if err := s.Drained(ctx); err != nil {
		return nil, err
	}
	for _, a := range s.apps {
		if err := s.readBack(ctx, a); err != nil {
			return nil, fmt.Errorf("the feed of %s: %w", a.zone, err)
		}
	}
	s.Tell("sent %d items, the feed shows each of them once", report.Events)
	if err := s.rounds(ctx, report); err != nil {
		return nil, err
	}
	if s.Only == 0 {
		sums, err := s.partitions(ctx)
		report.Failures = append(report.Failures, sums...)
		return report, err
	}
	return report, nil
}

// rounds lets families send round by round, and asks a part of the questions after each.
func (s *Suite) rounds(ctx context.Context, report *Report) (err error) {
	if s.Families == 0 {
		report.Failures, err = s.ask(ctx, 1, s.Combinations)
		return err
	}
	if s.families, err = s.openFamilies(ctx); err != nil {
		return fmt.Errorf("opening the application of families: %w", err)
	}
	for number := range s.Rounds {
		found, err := s.round(ctx, s.families, number)
		if err != nil {
			return fmt.Errorf("round %d: %w", number, err)
		}
		report.Failures = append(report.Failures, found...)
		s.Tell("round %d: %d items of families", number, len(s.families.sent))
		found, err = s.ask(ctx, s.Combinations*number/s.Rounds+1, s.Combinations*(number+1)/s.Rounds)
		report.Failures = append(report.Failures, found...)
		if err != nil {
			return err
		}
	}
	report.Events += len(s.families.sent)
	return nil
}

// ask asks the questions of some numbers, several at a time.
func (s *Suite) ask(ctx context.Context, first, last int) ([]Failure, error) {
	var (
		group    sync.WaitGroup
		failures []Failure
		broken   error
	)
	numbers := make(chan int)
	for range max(1, s.Workers) {
		group.Go(func() {
			for n := range numbers {
				failure, err := s.one(ctx, n)
				s.lock.Lock()
				if failure != nil {
					failures = append(failures, *failure)
					s.Tell("differs: %s", failure)
				}
				if err != nil && broken == nil {
					broken = fmt.Errorf("combination %d: %w", n, err)
				}
				s.lock.Unlock()
			}
		})
	}
	for n := first; n <= last; n++ {
		if s.Only == 0 || s.Only == n {
			numbers <- n
		}
		if n%1000 == 0 && s.Only == 0 {
			s.Tell("asked %d of %d", n, s.Combinations)
		}
	}
	close(numbers)
	group.Wait()
	return failures, broken
}

// lateAnswers is the number of attempts for a question without a timely answer.
const lateAnswers = 5

// one asks one question and compares the answer.
func (s *Suite) one(ctx context.Context, number int) (*Failure, error) {
	q := (&asker{rand.New(rand.NewPCG(s.Seed, uint64(number))), s}).next()
	s.lock.Lock()
	s.asked[q.route]++
	s.lock.Unlock()
	var (
		began, ended time.Time
		got          map[string]any
		status       int
		err          error
	)
	// A question that times out on a shared machine is asked again; a wrong answer remains wrong.
	for range lateAnswers {
		began = time.Now()
		if got, status, err = s.answer(ctx, &q); err != nil {
			return nil, err
		}
		if ended = time.Now(); status != http.StatusGatewayTimeout && status != http.StatusServiceUnavailable {
			break
		}
	}
	failure := &Failure{Number: number, Question: "/apps/" + s.server.Organization + "/" + q.app.slug + q.path + "?" + readable(q.query) + asked(q.body)}
	switch {
	case q.refused != "":
		failure.Differences = differRefusal(status, got, q.refused)
	case status != 200:
		failure.Differences = []string{fmt.Sprintf("status %d: %v", status, got)}
	default:
		failure.Differences, err = s.judge(&q, got, began, ended)
	}
	if err != nil || len(failure.Differences) == 0 {
		return nil, err
	}
	return failure, nil
}

// asked formats a body for people.
func asked(body any) string {
	text, err := json.Marshal(body)
	if body == nil || err != nil {
		return ""
	}
	return " " + string(text)
}

// readable formats a query for people.
func readable(query url.Values) string {
	if plain, err := url.QueryUnescape(query.Encode()); err == nil {
		return plain
	}
	return query.Encode()
}

func differRefusal(status int, got map[string]any, code string) []string {
	problems, _ := got["errors"].([]any)
	if len(problems) > 0 {
		if first, ok := problems[0].(map[string]any); ok && status == 400 && first["code"] == code {
			return nil
		}
	}
	return []string{fmt.Sprintf("status %d with %v, want 400 with errors[0].code %s", status, got, code)}
}

// answer reads an answer, with all pages of a list combined.
func (s *Suite) answer(ctx context.Context, q *question) (map[string]any, int, error) {
	if q.body != nil {
		status, got, err := s.server.do(ctx, http.MethodPost, "/apps/"+s.server.Organization+"/"+q.app.slug+q.path+"?"+q.query.Encode(), s.server.Token, q.body)
		return got, status, err
	}
	status, got, err := s.server.read(ctx, q.app.slug, q.path, q.query)
	if err != nil || status != 200 || q.pages == 0 {
		return got, status, err
	}
	all, _ := got["data"].([]any)
	first := len(all)
	query := url.Values{}
	for name, values := range q.query {
		query[name] = values
	}
	for read := 1; got["nextCursor"] != nil && read < q.pages; read++ {
		cursor, _ := got["nextCursor"].(string)
		query.Set("cursor", cursor)
		if status, got, err = s.server.read(ctx, q.app.slug, q.path, query); err != nil || status != 200 {
			return got, status, err
		}
		rows, _ := got["data"].([]any)
		if all = append(all, rows...); len(rows) > first || len(rows) == 0 || got["nextCursor"] != nil && len(rows) != first {
			return nil, 0, fmt.Errorf("a page of %s has %d rows, the first has %d", q.path, len(rows), first)
		}
	}
	got["data"] = all
	return got, status, nil
}

// judge compares an answer with the reference for the instant of the request, which is between its beginning and its
// end.
func (s *Suite) judge(q *question, got map[string]any, began, ended time.Time) ([]string, error) {
	own, wrong := ownWindow(q, got, began, ended)
	if wrong != "" {
		return []string{wrong}, nil
	}
	var first []string
	for _, now := range []time.Time{began, ended} {
		want, err := q.want(now, own)
		if err != nil {
			return nil, err
		}
		found := append(differ("", got, cut(q, got, want)), broken(q.route, got)...)
		if len(found) == 0 {
			return nil, nil
		}
		if first == nil {
			first = found
		}
	}
	return first, nil
}

// cut shortens a wanted list to the pages that were read, if more follow.
func cut(q *question, got map[string]any, want any) any {
	list, ok := want.(map[string]any)
	if !ok || q.pages == 0 || got["nextCursor"] == nil {
		return want
	}
	rows, _ := got["data"].([]any)
	wanted, _ := list["data"].([]any)
	if len(wanted) <= len(rows) {
		return map[string]any{"data": append(wanted, "another row, since a cursor was given")}
	}
	list["data"] = wanted[:len(rows)]
	return list
}

// ownWindow reads the window that an answer states, and compares it with the request.
func ownWindow(q *question, got map[string]any, began, ended time.Time) (own *reference.Window, wrong string) {
	stated, ok := got["range"].(map[string]any)
	if !ok {
		return nil, ""
	}
	word := q.query.Get("range")
	if word == "" {
		word = "7d"
	}
	var edges [2]time.Time
	for i, name := range []string{"from", "to"} {
		text, _ := stated[name].(string)
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, fmt.Sprintf(".range.%s: %v", name, err)
		}
		edges[i] = at.In(q.app.zone)
	}
	early, err := q.app.data.Window(word, began)
	late, err2 := q.app.data.Window(word, ended)
	switch {
	case err != nil || err2 != nil:
		return nil, "the suite cannot read the range " + word
	case edges[0].Before(early.From) || edges[0].After(late.From) || edges[1].Before(early.To) || edges[1].After(late.To):
		return nil, fmt.Sprintf(".range: got %s to %s, want %s to %s", edges[0], edges[1], early.From, early.To)
	}
	return &reference.Window{From: edges[0], To: edges[1], Grain: early.Grain, Exact: early.Exact}, ""
}
