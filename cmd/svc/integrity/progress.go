package integrity

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"svc/storage/datadir"
)

// progressEvery is the interval at which the file is written.
const progressEvery = 10 * time.Second

// progressTime limits the look-up of the log's offsets.
const progressTime = 2 * time.Second

// Progress records the stored offsets of the log in a file: if the log is lost, the file shows how much was lost with
// it.
type Progress struct {
	File       string
	Log        Log
	Consumer   Consumer
	Partitions []int
	Now        func() time.Time
	Logger     *slog.Logger
}

// progress is the stored offsets of the log at an instant.
type progress struct {
	At       time.Time `json:"at"`
	Accepted int64     `json:"accepted"`
	Stored   int64     `json:"stored"`
}

// Run records the progress periodically, and at the end.
func (p *Progress) Run(ctx context.Context) error {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return p.note(context.WithoutCancel(ctx))
		}
		if err := p.note(ctx); err != nil && ctx.Err() == nil {
			p.Logger.Warn("how far the log is stored could not be noted", "error", err)
		}
	}
}

func (p *Progress) note(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, progressTime)
	defer cancel()
	ranges, err := p.Log.Ranges(ctx)
	if err != nil {
		return err
	}
	positions, err := p.Consumer.Committed(ctx, p.Partitions)
	if err != nil {
		return err
	}
	now := progress{At: p.Now().UTC()}
	for _, at := range positions {
		now.Accepted += ranges[at.Partition].End
		now.Stored += at.Offset
	}
	encoded, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return datadir.Replace(p.File, encoded)
}

// lastProgress returns, from the file of a [Progress], the known facts about a lost log.
func lastProgress(file string) string {
	var last progress
	encoded, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(encoded, &last)
	}
	if err != nil {
		return "nothing is noted of how far it was stored"
	}
	return fmt.Sprintf("at %s it had %d records, of which %d were stored and %d were not", last.At.Format(time.RFC3339), last.Accepted, last.Stored, last.Accepted-last.Stored)
}
