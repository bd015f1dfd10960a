package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// importTotals counts the outcomes of the lines.
type importTotals struct {
	sent, skipped, malformed, rejected atomic.Int64

	lock sync.Mutex
	// reasons counts rejected items by the server's code.
	reasons map[string]int64
	// examples has the first line of the file for every reason.
	examples map[string]importExample
}

// importExample is a line that was not accepted, and the reason.
type importExample struct {
	line    int64
	message string
}

// note adds an answered batch; lines are the line numbers of its items.
func (t *importTotals) note(answer ingestAnswer, lines []int64) {
	rejected := int64(len(answer.Rejected))
	t.sent.Add(int64(len(lines)) - rejected)
	t.rejected.Add(rejected)
	for _, rejection := range answer.Rejected {
		t.count(rejection.Code)
		if rejection.Index >= 0 && rejection.Index < len(lines) {
			t.example(rejection.Code, rejection.Message, lines[rejection.Index])
		}
	}
}

func (t *importTotals) count(code string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.reasons == nil {
		t.reasons = map[string]int64{}
	}
	t.reasons[code]++
}

// example stores a line that was not accepted, if it is the first in the file for its reason.
func (t *importTotals) example(reason, message string, line int64) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.examples == nil {
		t.examples = map[string]importExample{}
	}
	if first, known := t.examples[reason]; !known || line < first.line {
		t.examples[reason] = importExample{line, message}
	}
}

// explain writes the first line for every reason, in the order of the file.
func (t *importTotals) explain(w io.Writer) {
	t.lock.Lock()
	defer t.lock.Unlock()
	reasons := slices.SortedFunc(maps.Keys(t.examples), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.examples[a].line, t.examples[b].line), strings.Compare(a, b))
	})
	for _, reason := range reasons {
		fmt.Fprintf(w, "line %d: %s: %s\n", t.examples[reason].line, reason, t.examples[reason].message)
	}
}

// lines returns the number of processed lines.
func (t *importTotals) lines() int64 {
	return t.sent.Load() + t.skipped.Load() + t.malformed.Load() + t.rejected.Load()
}

// print writes the summary.
func (t *importTotals) print(w io.Writer, took time.Duration) {
	t.lock.Lock()
	defer t.lock.Unlock()
	var why []string
	for _, code := range slices.Sorted(maps.Keys(t.reasons)) {
		why = append(why, fmt.Sprintf("%s %d", code, t.reasons[code]))
	}
	rejected := fmt.Sprint(t.rejected.Load())
	if len(why) > 0 {
		rejected += " (" + strings.Join(why, ", ") + ")"
	}
	fmt.Fprintf(w, "sent       %d\nskipped    %d\nmalformed  %d\nrejected   %s\nrate       %.0f lines/s (%d lines in %.2f s)\n",
		t.sent.Load(), t.skipped.Load(), t.malformed.Load(), rejected,
		float64(t.lines())/max(took.Seconds(), 0.001), t.lines(), took.Seconds())
}

// verdict is the error that the import ends with.
func (t *importTotals) verdict(ctx context.Context, err error, flags importFlags) error {
	switch {
	case ctx.Err() != nil:
		again := ""
		if flags.align {
			again = " with --align-end " + flags.end.Format(time.RFC3339)
		}
		return errors.New("interrupted; start the import again" + again + " to send the rest, what was sent is recognised")
	case err != nil:
		return err
	case t.reasons["too_old"] > 0 && flags.what != importsLog:
		return errors.New("some items are older than the application keeps events; raise its retentionDays and start the import again, what was sent is recognised")
	case t.reasons["too_old"] > 0 && !flags.align:
		return errors.New("the server does not keep events as old as these lines; --align-end now moves them to the present")
	case t.rejected.Load() > 0 && t.sent.Load() == 0:
		return errors.New("the server took none of the lines")
	case t.sent.Load() == 0:
		return errors.New("the file has no line that can be imported")
	}
	return nil
}

// The interval of progress output without a terminal, and on one.
const (
	progressPause = 5 * time.Second
	barPause      = 100 * time.Millisecond
)

// importProgress shows the number of processed lines: as a bar on a terminal, elsewhere as a line now and then.
type importProgress struct {
	w      io.Writer
	bar    *progressbar.ProgressBar // nil if w is not a terminal
	lines  int64
	totals *importTotals

	done, ended chan struct{}
}

// newProgress starts to show progress, until stop is called.
func newProgress(w io.Writer, lines int64, totals *importTotals) *importProgress {
	p := &importProgress{w: w, lines: lines, totals: totals, done: make(chan struct{}), ended: make(chan struct{})}
	pause := progressPause
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		pause = barPause
		p.bar = progressbar.NewOptions64(lines, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("importing"),
			progressbar.OptionShowCount(),
			progressbar.OptionFullWidth())
	}
	go p.run(pause)
	return p
}

func (p *importProgress) run(pause time.Duration) {
	defer close(p.ended)
	ticks := time.NewTicker(pause)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			p.tell()
		case <-p.done:
			if p.bar != nil {
				p.tell()
				fmt.Fprintln(p.w)
			}
			return
		}
	}
}

func (p *importProgress) tell() {
	if p.bar != nil {
		_ = p.bar.Set64(p.totals.lines()) // a failure to draw the bar does not matter
		return
	}
	fmt.Fprintf(p.w, "%d of %d lines\n", p.totals.lines(), p.lines)
}

// notice writes a sentence next to the bar.
func (p *importProgress) notice(text string) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.w, text)
}

// stop shows the last state.
func (p *importProgress) stop() {
	close(p.done)
	<-p.ended
}
