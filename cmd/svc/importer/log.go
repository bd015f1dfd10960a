package importer

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/cmd/svc/accesslog"
	"svc/domain/event"
)

// importSenders is the number of concurrent requests. The lines of one visitor always use the same sender, so that they
// arrive in the log's order.
const importSenders = 4

// logSurvey is the result of the first pass over a log.
type logSurvey struct {
	lines       int64
	first, last time.Time // of the first and the last line with a time
	latest      time.Time // servers write a line when its request ends, so the last is not always the latest
}

func surveyLog(ctx context.Context, flags importFlags) (survey logSurvey, err error) {
	err = eachLine(ctx, flags, func(_ []byte, line accesslog.Line, ok bool) error {
		survey.lines++
		if !ok || line.Time.IsZero() {
			return nil
		}
		if survey.first.IsZero() {
			survey.first = line.Time
		}
		survey.last = line.Time
		if line.Time.After(survey.latest) {
			survey.latest = line.Time
		}
		return nil
	})
	return survey, err
}

// errDetected ends the reading of a log once its format is known.
var errDetected = errors.New("the format is known")

// detectFormat detects the format of a log from its first lines.
func detectFormat(ctx context.Context, name string) (accesslog.Format, error) {
	detector := accesslog.NewDetector()
	err := eachRawLine(ctx, name, accesslog.MaxLineBytes, func(raw []byte) error {
		if !detector.Add(raw) {
			return errDetected
		}
		return nil
	})
	if err != nil && !errors.Is(err, errDetected) {
		return accesslog.Format{}, err
	}
	format, ok := detector.Format()
	if !ok {
		return format, fmt.Errorf("no line at the beginning of %s has a known format; --format names one of %s", name, strings.Join(accesslog.Names(), ", "))
	}
	return format, nil
}

// eachLine calls do for every line of a log, until do fails or ctx ends.
func eachLine(ctx context.Context, flags importFlags, do func(raw []byte, line accesslog.Line, ok bool) error) error {
	format, ok := accesslog.Named(flags.format)
	if !ok {
		return fmt.Errorf("no format is named %q", flags.format)
	}
	parse := format.Parser()
	return eachRawLine(ctx, flags.file, accesslog.MaxLineBytes, func(raw []byte) error {
		line, ok := parse(raw)
		return do(raw, line, ok)
	})
}

// eachRawLine calls do for every line of a file, until do fails or ctx ends. Of a line over longest bytes it passes
// only the beginning.
func eachRawLine(ctx context.Context, name string, longest int, do func(raw []byte) error) error {
	reader, err := accesslog.Open(name, longest)
	if err != nil {
		return err
	}
	for err == nil {
		var raw []byte
		switch raw, err = reader.Next(); {
		case errors.Is(err, io.EOF):
			return reader.Close()
		case err != nil:
			err = fmt.Errorf("reading %s: %w", name, err)
		default:
			err = errors.Join(do(raw), ctx.Err())
		}
	}
	return errors.Join(err, reader.Close())
}

// importAccessLog replays a log and prints the outcome of its lines.
func importAccessLog(ctx context.Context, flags importFlags, stdout, stderr io.Writer) error {
	if flags.format == "" {
		format, err := detectFormat(ctx, flags.file)
		if err != nil {
			return err
		}
		flags.format = format.Name
	}
	survey, err := surveyLog(ctx, flags)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "format: %s\n", flags.format)
	if survey.last.IsZero() {
		return fmt.Errorf("%s has no line in the format %s", flags.file, flags.format)
	}
	var shift time.Duration
	if flags.align {
		shift = flags.end.Sub(survey.last)
	}
	announce(stderr, flags, survey, shift)

	var totals importTotals
	started := time.Now()
	progress := newProgress(stderr, survey.lines, &totals)
	err = replayLog(ctx, flags, shift, &totals, progress)
	progress.stop()
	totals.print(stdout, time.Since(started))
	totals.explain(stderr)
	return totals.verdict(ctx, err, flags)
}

// announce describes the lines that are about to be sent.
func announce(w io.Writer, flags importFlags, survey logSurvey, shift time.Duration) {
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	fmt.Fprintf(w, "%s: %d lines from %s to %s\n", flags.file, survey.lines, stamp(survey.first), stamp(survey.last))
	if flags.align {
		end := survey.last.Add(shift)
		fmt.Fprintf(w, "shifted by %s: the last line falls at %s (--align-end %s repeats this import)\n", shift, stamp(end), stamp(end))
	}
	switch ahead := time.Until(survey.latest.Add(shift)).Round(time.Second); {
	case ahead > event.FutureTolerance:
		fmt.Fprintf(w, "warning: the log reaches %s into the future; the server moves what is more than %s ahead back to its own time\n", ahead, event.FutureTolerance)
	case ahead > 0:
		fmt.Fprintf(w, "the log's latest time is %s ahead; ranges that end now hold all of it by then\n", ahead)
	}
}

// replayLog reads the log a second time and sends every page view.
func replayLog(ctx context.Context, flags importFlags, shift time.Duration, totals *importTotals, progress *importProgress) error {
	return sendItems(ctx, flags, totals, progress, func(ctx context.Context, add func(importItem) error) error {
		builder := itemBuilder{shift: shift, site: flags.site}
		return eachLine(ctx, flags, func(raw []byte, line accesslog.Line, ok bool) error {
			item, visitor := builder.next(raw, line, ok, totals)
			if item == nil {
				return nil
			}
			return add(importItem{builder.lines, visitor, item})
		})
	})
}

// sendItems sends the items that each adds. When ctx ends, it waits for the open requests.
func sendItems(
	ctx context.Context, flags importFlags, totals *importTotals, progress *importProgress,
	each func(ctx context.Context, add func(importItem) error) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	client := newIngestClient(flags.url, flags.key, progress)
	if flags.what == importsBilling {
		client.url, client.list = flags.url+"/api/v1/revenue", true
	}
	lanes := newImportLanes()
	for _, lane := range lanes.ways {
		group.Go(func() error { return client.sendAll(ctx, lane, totals) })
	}
	group.Go(func() error {
		defer lanes.close()
		if err := each(ctx, func(item importItem) error { return lanes.add(ctx, item) }); err != nil {
			return err
		}
		return lanes.flush(ctx)
	})
	return group.Wait()
}

// importLanes distributes items to the senders: the items of one visitor go to the same sender.
type importLanes struct {
	seed    maphash.Seed
	ways    [importSenders]chan *importBatch
	growing [importSenders]*importBatch
}

func newImportLanes() *importLanes {
	lanes := &importLanes{seed: maphash.MakeSeed()}
	for i := range lanes.ways {
		lanes.ways[i], lanes.growing[i] = make(chan *importBatch), &importBatch{}
	}
	return lanes
}

// add puts an item into its visitor's batch; a full batch goes to its sender.
func (l *importLanes) add(ctx context.Context, item importItem) error {
	i := int(maphash.String(l.seed, item.visitor) % importSenders)
	if !l.growing[i].fits(item.encoded) {
		if err := l.hand(ctx, i); err != nil {
			return err
		}
	}
	l.growing[i].add(item)
	return nil
}

// flush hands over the remaining batches.
func (l *importLanes) flush(ctx context.Context) error {
	for i, batch := range l.growing {
		if len(batch.lines) == 0 {
			continue
		}
		if err := l.hand(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// hand waits until a sender accepts its batch.
func (l *importLanes) hand(ctx context.Context, i int) error {
	select {
	case l.ways[i] <- l.growing[i]:
		l.growing[i] = &importBatch{}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *importLanes) close() {
	for _, way := range l.ways {
		close(way)
	}
}
