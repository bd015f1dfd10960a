package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc/cmd/svc/adapter"
	"svc/domain/event"
	"svc/domain/occurrence"
	"svc/http/admission"
	"svc/http/ingest"
	"svc/http/route"
	"svc/storage/kafka"
	"svc/storage/sourcemaps"
	"svc/storage/spool"
)

// ingestModule accepts events, errors and metrics, source maps, and announcements of releases.
func (n *node) ingestModule() module {
	return module{name: "ingest", routes: func() ([]route.Route, error) {
		n.gate = n.admission()
		collect := &ingest.Collect{
			Collectors: n.collectors, Current: n.current, Log: adapter.Producer{Producer: n.producer, Disk: n.disk}, Shape: n.shape(),
			Metrics: ingest.NewCollectMetrics(n.registry), Symbols: n.newSymbols(), Cardinality: n.cardinality,
			Admission: n.gate, Policies: n.policies, Tallies: n.tallies, NoBilling: !hasRevenue,
			Proxies: n.config.Proxies,
		}
		if n.apps != nil { // a node that is not open only prints the table
			collect.ExclusionKey = n.apps.ExclusionKey
		}
		uploads := n.uploads(collect.Admission)
		releases := &ingest.Releases{Uploads: uploads, Book: n.releases, Counts: releaseCounts{n}}
		return slices.Concat(collect.Routes(), n.sentry(collect).Routes(), uploads.Routes(), releases.Routes()), nil
	}}
}

// openSpool opens the disk buffer for errors that the log does not accept at the moment.
func (n *node) openSpool(context.Context) (err error) {
	n.spool, err = spool.Open(spool.Config{Dir: n.dir.Join("spool"), MaxBytes: n.config.SpoolSize << 20, Logger: n.logger})
	return err
}

// drainSpool moves spooled items to the log.
func (n *node) drainSpool(ctx context.Context) error {
	return n.spool.Run(ctx, n.handOver)
}

// handOver writes spooled items to the log. A payload that is too long for the log is dropped and logged: a retry would
// not help, and it would block the others.
func (n *node) handOver(ctx context.Context, parts []event.Part) error {
	err := adapter.Producer{Producer: n.producer, Disk: n.disk}.Produce(ctx, parts)
	if !errors.Is(err, kafka.ErrTooLarge) {
		return err
	}
	for _, part := range parts {
		err := adapter.Producer{Producer: n.producer, Disk: n.disk}.Produce(ctx, []event.Part{part})
		switch {
		case errors.Is(err, kafka.ErrTooLarge):
			n.logger.Error("dropping errors that are too long for the log", "partition", part.Partition, "bytes", len(part.Payload))
		case err != nil:
			return err
		}
	}
	return nil
}

// sentry returns the intake for Sentry SDKs.
func (n *node) sentry(collect *ingest.Collect) *ingest.Sentry {
	return &ingest.Sentry{
		Collect: collect, Spool: n.spool, Metrics: ingest.NewSentryMetrics(n.registry), Limiter: &ingest.ErrorLimiter{PerMinute: n.config.ErrorLimit},
	}
}

// uploads returns the intake for source maps.
func (n *node) uploads(control *admission.Control) *ingest.Uploads {
	uploads := ingest.NewUploads(n.identity, n.apps, n.db, n.now, n.config.Origin())
	uploads.CheckMap = sourcemaps.Check
	uploads.Admission = control
	return uploads
}

// newSymbols returns the look-up of the original places of minified code.
func (n *node) newSymbols() symbols {
	return symbols{sourcemaps.New(sourcemaps.Config{Store: n.db, MaxBytes: int(n.memory.Maps), Now: n.now})}
}

// symbols adapts the source maps to the ingest path.
type symbols struct{ maps *sourcemaps.Maps }

func (s symbols) Resolve(ctx context.Context, app string, keys []string, frame occurrence.Frame) occurrence.Frame {
	at := sourcemaps.Place{File: frame.File, Function: frame.Function, Line: frame.Line, Column: frame.Column}
	original, err := s.maps.Resolve(ctx, app, keys, at)
	if err == nil {
		return occurrence.Frame{File: original.File, Function: original.Function, Line: original.Line, Column: original.Column}
	}
	_, broken := errors.AsType[*sourcemaps.BrokenError](err)
	if frame.Unmapped = "its source map could not be read in time"; broken || errors.Is(err, sourcemaps.ErrNoMap) || errors.Is(err, sourcemaps.ErrNotMapped) {
		frame.Unmapped = err.Error()
	}
	return frame
}

// closeSpool ends the writing of the spool; waiting items remain for the next start.
func (n *node) closeSpool() error {
	if err := n.spool.Close(); err != nil {
		return fmt.Errorf("closing the spool: %w", err)
	}
	return nil
}

// behindIntervals is the age of a record, in flush intervals, from which applications above their share are throttled.
const behindIntervals = 2

// admission returns the limiter of ingest requests on the node.
func (n *node) admission() *admission.Control {
	control := admission.New(n.memory.Ingest)
	lag := func(shard int) time.Duration {
		return n.progress.Age(n.now(), shard*n.config.Partitions, (shard+1)*n.config.Partitions)
	}
	maxLag := func() time.Duration { return behindIntervals * n.sinks.Interval() }
	control.Share(lag, maxLag, n.processors.Count()+1, n.now)
	control.UseProcessors(n.processors)
	return control
}
