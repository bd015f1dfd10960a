package funnel

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/filter"
	"svc/domain/goal"
)

func TestFunnelSpecValidate(t *testing.T) {
	view, signup := Step{Matcher: goal.Matcher{Kind: goal.MatchPath, Match: "/"}}, Step{Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "signup"}}
	filtered := func(filters ...filter.StepFilter) Spec {
		return Spec{"f", []Step{view, {Matcher: signup.Matcher, Filters: filters}}, 1}
	}
	field := func(name, code, message string, allowed ...string) domain.FieldError {
		return domain.FieldError{Field: name, Code: code, Message: message, Allowed: allowed}
	}
	long := strings.Repeat("x", filter.MaxFilterValueBytes+1)
	for name, c := range map[string]struct {
		spec Spec
		want []domain.FieldError
	}{
		"good":     {Spec{"f", []Step{view, signup}, MaxWindowHours}, nil},
		"12 steps": {Spec{"f", slices.Repeat([]Step{view}, 12), 1}, nil},
		"13 steps": {Spec{"f", slices.Repeat([]Step{view}, 13), 1}, []domain.FieldError{field("steps", "out_of_range", "A funnel has 2 to 12 steps, not 13.")}},
		"all wrong": {Spec{" ", []Step{{}}, MaxWindowHours + 1}, []domain.FieldError{
			field("name", "required", "The name must not be empty."),
			field("steps", "out_of_range", "A funnel has 2 to 12 steps, not 1."),
			field("steps[0].kind", "unknown_value", `Unknown kind "".`, "path", "event"),
			field("steps[0].match", "required", "The match must not be empty."),
			field("windowHours", "out_of_range", "The windowHours must be 1 to 2160, not 2161."),
		}},
		"no hours": {Spec{"f", []Step{view, view}, 0}, []domain.FieldError{field("windowHours", "out_of_range", "The windowHours must be 1 to 2160, not 0.")}},
		"every comparison": {filtered(
			filter.StepFilter{Property: "country", Op: filter.OpEq, Value: "DE"}, filter.StepFilter{Property: "property.plan", Op: filter.OpNeq, Value: true}, filter.StepFilter{Property: "url", Op: filter.OpContains, Value: "x"}, filter.StepFilter{Property: "title", Op: filter.OpNotContains, Value: "x"},
			filter.StepFilter{Property: "property.n", Op: filter.OpIn, Value: []any{1.0, "2", false}}, filter.StepFilter{Property: "value", Op: filter.OpGt, Value: 1.0}, filter.StepFilter{Property: "value", Op: filter.OpGte, Value: 1.0}, filter.StepFilter{Property: "value", Op: filter.OpLt, Value: -1.5},
			filter.StepFilter{Property: "value", Op: filter.OpLte, Value: 0.0}, filter.StepFilter{Property: "currency", Op: filter.OpExists, Value: nil}, filter.StepFilter{Property: "currency", Op: filter.OpExists, Value: false},
		), nil},
		"too many": {filtered(slices.Repeat([]filter.StepFilter{{Property: "value", Op: filter.OpExists, Value: nil}}, 21)...), []domain.FieldError{field("steps[1].filters", "out_of_range", "A step has at most 20 filters.")}},
		"unknown words": {filtered(filter.StepFilter{Property: "entry_path", Op: "like", Value: 1.0}, filter.StepFilter{Property: "property.", Op: filter.OpEq, Value: "x"}), []domain.FieldError{
			field("steps[1].filters[0].property", "unknown_value", `Unknown property "entry_path".`, append(filter.StepProperties(), "property.<key>")...),
			field("steps[1].filters[0].op", "unknown_value", `Unknown op "like".`, domain.Texts(filter.Ops())...),
			field("steps[1].filters[1].property", "invalid_value", "The key of a custom property is 1 to 200 bytes."),
		}},
		"unsuitable values": {filtered(
			filter.StepFilter{Property: "city", Op: filter.OpEq, Value: nil}, filter.StepFilter{Property: "city", Op: filter.OpNeq, Value: []any{"a"}}, filter.StepFilter{Property: "city", Op: filter.OpContains, Value: ""}, filter.StepFilter{Property: "city", Op: filter.OpNotContains, Value: 1.0},
			filter.StepFilter{Property: "city", Op: filter.OpIn, Value: "a"}, filter.StepFilter{Property: "city", Op: filter.OpIn, Value: []any{}}, filter.StepFilter{Property: "city", Op: filter.OpIn, Value: []any{"a", nil}}, filter.StepFilter{Property: "city", Op: filter.OpGt, Value: "1"},
			filter.StepFilter{Property: "city", Op: filter.OpLte, Value: []any{1.0}}, filter.StepFilter{Property: "city", Op: filter.OpExists, Value: "yes"}, filter.StepFilter{Property: "city", Op: filter.OpEq, Value: long}, filter.StepFilter{Property: "city", Op: filter.OpEq, Value: map[string]any{}},
		), []domain.FieldError{
			field("steps[1].filters[0].value", "invalid_value", "The value of eq is a text, a number, true or false."),
			field("steps[1].filters[1].value", "invalid_value", "The value of neq is a text, a number, true or false."),
			field("steps[1].filters[2].value", "invalid_value", "The value of contains is a text that is not empty."),
			field("steps[1].filters[3].value", "invalid_value", "The value of not_contains is a text that is not empty."),
			field("steps[1].filters[4].value", "invalid_value", "The value of in is a list of 1 to 100 texts, numbers or booleans."),
			field("steps[1].filters[5].value", "invalid_value", "The value of in is a list of 1 to 100 texts, numbers or booleans."),
			field("steps[1].filters[6].value", "invalid_value", "The value of in is a list of 1 to 100 texts, numbers or booleans."),
			field("steps[1].filters[7].value", "invalid_value", "The value of gt is a number."),
			field("steps[1].filters[8].value", "invalid_value", "The value of lte is a number."),
			field("steps[1].filters[9].value", "invalid_value", "The value of exists is true, false or absent."),
			field("steps[1].filters[10].value", "invalid_value", "A value is longer than 1024 bytes."),
			field("steps[1].filters[11].value", "invalid_value", "The value of eq is a text, a number, true or false."),
		}},
	} {
		if got := c.spec.Validate(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

func TestStepFilterOperands(t *testing.T) {
	number := 1.5
	got := filter.StepFilter{Property: "city", Op: filter.OpIn, Value: []any{"a", 1.5, true}}.Operands()
	if want := []filter.Operand{{Text: "a"}, {Text: "1.5", Number: &number}, {Text: "true"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := (filter.StepFilter{Property: "city", Op: filter.OpExists, Value: true}).Operands(); got != nil {
		t.Errorf("exists has operands %+v", got)
	}
	if (filter.StepFilter{Op: filter.OpExists, Value: false}).Wants() || !(filter.StepFilter{Op: filter.OpExists}).Wants() {
		t.Error("exists without a value wants the property, with false it does not")
	}
}

// testFunnel has steps and a window of one hour; reads cover the hours 1 to 3.
func testFunnel(steps int) (*Funnel, domain.Window) {
	f := &Funnel{WindowHours: 1}
	for i := range steps {
		f.Steps = append(f.Steps, Step{Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: fmt.Sprint("s", i+1)}})
	}
	return f, domain.Window{From: time.UnixMilli(0).Add(time.Hour), To: time.UnixMilli(0).Add(3 * time.Hour)}
}

const hourMs = 3_600_000

func TestFunnelTally(t *testing.T) {
	const a, b, c = 1, 2, 4
	seconds := func(s float64) *float64 { return &s }
	row := func(step int, entered, converted uint64, rate float64, median *float64) Row {
		return Row{Step: step, Name: fmt.Sprint("s", step), Entered: entered, Converted: converted, DropOff: entered - converted, ConversionRate: rate, MedianSeconds: median}
	}
	at := func(ms int64, steps uint16) Event { return Event{hourMs + ms, steps} }
	for name, test := range map[string]struct {
		persons [][]Event
		entered uint64
		want    []Row
	}{
		"nobody":                {nil, 0, []Row{row(1, 0, 0, 0, nil), row(2, 0, 0, 0, nil), row(3, 0, 0, 0, nil)}},
		"all steps":             {[][]Event{{at(0, a), at(10, b), at(30, c)}}, 0, []Row{row(1, 1, 1, 1, nil), row(2, 1, 1, 1, seconds(0.01)), row(3, 1, 1, 1, seconds(0.02))}},
		"only entered":          {[][]Event{{at(0, a)}}, 2, []Row{row(1, 3, 0, 0, nil), row(2, 0, 0, 0, nil), row(3, 0, 0, 0, nil)}},
		"wrong order":           {[][]Event{{at(0, c), at(1, b), at(2, a)}}, 0, []Row{row(1, 1, 0, 0, nil), row(2, 0, 0, 0, nil), row(3, 0, 0, 0, nil)}},
		"one event is one step": {[][]Event{{at(0, a|b|c), at(1, a|b|c)}}, 0, []Row{row(1, 1, 1, 1, nil), row(2, 1, 0, 0, seconds(0.001)), row(3, 0, 0, 0, nil)}},
		"the window's last ms":  {[][]Event{{at(0, a), at(5, b), at(hourMs, c)}}, 0, []Row{row(1, 1, 1, 1, nil), row(2, 1, 1, 1, seconds(0.005)), row(3, 1, 1, 1, seconds(3599.995))}},
		"after the window":      {[][]Event{{at(0, a), at(5, b), at(hourMs+1, c)}}, 0, []Row{row(1, 1, 1, 1, nil), row(2, 1, 0, 0, seconds(0.005)), row(3, 0, 0, 0, nil)}},
		"the deepest attempt":   {[][]Event{{at(0, a), at(hourMs, a), at(hourMs+1, b)}}, 0, []Row{row(1, 1, 1, 1, nil), row(2, 1, 0, 0, seconds(0.001)), row(3, 0, 0, 0, nil)}},
		"the first of equals":   {[][]Event{{at(0, a), at(10, a), at(15, b), at(40, a), at(41, b)}}, 0, []Row{row(1, 1, 1, 1, nil), row(2, 1, 0, 0, seconds(0.015)), row(3, 0, 0, 0, nil)}},
		"a later one is deeper": {[][]Event{{at(0, a), at(1, b), at(hourMs, a), at(hourMs+2, b), at(2*hourMs, c)}}, 0, []Row{row(1, 1, 1, 1, nil), row(2, 1, 1, 1, seconds(0.002)), row(3, 1, 1, 1, seconds(3599.998))}},
		"entered too early":     {[][]Event{{at(-1, a), at(1, b)}}, 0, []Row{row(1, 0, 0, 0, nil), row(2, 0, 0, 0, nil), row(3, 0, 0, 0, nil)}},
		"entered too late":      {[][]Event{{at(2*hourMs, a), at(2*hourMs+1, b)}}, 0, []Row{row(1, 0, 0, 0, nil), row(2, 0, 0, 0, nil), row(3, 0, 0, 0, nil)}},
		"converted after range": {[][]Event{{at(2*hourMs-1, a), at(2*hourMs, b)}}, 0, []Row{row(1, 1, 1, 1, nil), row(2, 1, 0, 0, seconds(0.001)), row(3, 0, 0, 0, nil)}},
		"medians":               {[][]Event{{at(0, a), at(10, b)}, {at(0, a), at(40, b)}, {at(0, a), at(20, b)}, {at(0, a), at(30, b)}}, 0, []Row{row(1, 4, 4, 1, nil), row(2, 4, 0, 0, seconds(0.025)), row(3, 0, 0, 0, nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			funnel, window := testFunnel(3)
			tally := NewFunnelTally(funnel, window)
			tally.AddEntered(test.entered)
			for _, events := range test.persons {
				tally.Add(events)
			}
			if got := tally.Rows(); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// attempts implements the definition literally: every attempt of a person, step by step.
func attempts(f *Funnel, w domain.Window, events []Event) (times []int64) {
	for i, event := range events {
		if event.Steps&1 == 0 || event.TsMs < w.From.UnixMilli() || event.TsMs >= w.To.UnixMilli() {
			continue
		}
		attempt := []int64{event.TsMs}
		for _, later := range events[i+1:] {
			if len(attempt) < len(f.Steps) && later.Steps&(1<<len(attempt)) != 0 && later.TsMs-event.TsMs <= f.Window().Milliseconds() {
				attempt = append(attempt, later.TsMs)
			}
		}
		if len(attempt) > len(times) {
			times = attempt
		}
	}
	return times
}

// TestFunnelTallyIsWhatItSays compares the tally with the definition person by person, and checks invariants of all
// rows.
func TestFunnelTallyIsWhatItSays(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 20000 {
		funnel, window := testFunnel(2 + random.IntN(4))
		var events []Event
		for range random.IntN(12) {
			events = append(events, Event{random.Int64N(5) * hourMs * 9 / 10, uint16(random.IntN(1 << len(funnel.Steps)))})
		}
		slices.SortStableFunc(events, func(a, b Event) int { return int(a.TsMs - b.TsMs) })
		tally := NewFunnelTally(funnel, window)
		tally.Add(events)
		rows, times := tally.Rows(), attempts(funnel, window, events)
		for i, row := range rows {
			entered := i < len(times)
			if entered != (row.Entered == 1) || row.Converted+row.DropOff != row.Entered || i > 0 && rows[i-1].Converted != row.Entered {
				t.Fatalf("%+v\nrows %+v\nbut the steps are at %v", events, rows, times)
			}
			if entered && i > 0 && *row.MedianSeconds*1000 != float64(times[i]-times[i-1]) {
				t.Fatalf("%+v\nstep %d took %v s, but the steps are at %v", events, i+1, *row.MedianSeconds, times)
			}
		}
	}
}

// TestFunnelTallyIsLinear gives one person as many entries as a robot would have.
func TestFunnelTallyIsLinear(t *testing.T) {
	funnel, window := testFunnel(3)
	events := make([]Event, 1_000_000)
	for i := range events {
		events[i] = Event{hourMs + int64(i), 1}
	}
	events[len(events)-1].Steps = 2
	tally := NewFunnelTally(funnel, window)
	tally.Add(events)
	if rows := tally.Rows(); rows[1].Entered != 1 || *rows[1].MedianSeconds != 999.999 {
		t.Errorf("%+v", rows)
	}
}
