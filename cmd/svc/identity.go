package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"svc/cmd/svc/backup"

	"svc/storage/datadir"
	"svc/storage/kafka"
)

// Facts of the installation, beside firstStartFact.
const (
	// dataSetFact is the random id of everything that is stored.
	dataSetFact = "data set"
	// keyFact is the fingerprint of the master key that seals secrets.
	keyFact = "key"
	// logFact is what the log calls itself.
	logFact = "log"
)

// checkIdentity notes whose data this is where the store is new, and compares it in others:
// the store, the log and the key belong together, and the log still has what was not stored.
func (n *node) checkIdentity(ctx context.Context) error {
	n.inspection.refused = nil // of an attempt before
	facts, err := n.db.Facts(ctx)
	if err != nil {
		return err
	}
	used, err := n.db.Used(ctx)
	if err != nil {
		return err
	}
	_, known := facts[dataSetFact]
	if used && !known { // of a version without facts, which has had its first start
		if _, err := n.db.NoteFact(ctx, firstStartFact, "shown"); err != nil {
			return err
		}
	}
	for _, check := range []func() error{
		func() error { return n.checkKey(ctx, facts[keyFact]) },
		func() error { return n.checkLog(ctx, facts[logFact]) },
		func() error { return n.checkPositions(ctx, used || known) },
		n.inspection.verdict,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if n.inspection.repairing && !n.inspection.applying && n.inspection.found > 0 {
		return nil // a look changes nothing
	}
	_, err = n.db.NoteFact(ctx, dataSetFact, n.chance.ID("set_"))
	return err
}

// checkKey compares the master key with the one that sealed what is stored.
func (n *node) checkKey(ctx context.Context, noted string) error {
	own, err := n.vault.Fingerprint()
	if err != nil {
		return err
	}
	if noted == "" {
		noted, err = n.db.NoteFact(ctx, keyFact, own)
	}
	if err != nil || noted == own {
		return err
	}
	return n.inspection.report(finding{
		what:  fmt.Sprintf("the master key is %s, and what is stored was sealed with the key %s: secrets of channels and model providers could not be read any more; put the right key back into vault.key or SVC_MASTER_KEY", own, noted),
		would: "takes the present key: channels and credentials of model providers have to be entered again, and open consoles end",
		apply: func() error { return n.db.ReplaceFact(ctx, keyFact, own) },
	})
}

// checkLog compares the log with the one from which the store was filled.
func (n *node) checkLog(ctx context.Context, noted string) error {
	own, err := n.topic.ClusterID(ctx)
	if err != nil || own == "" {
		return err // a cluster that does not say who it is
	}
	if noted == "" {
		noted, err = n.db.NoteFact(ctx, logFact, own)
	}
	if err != nil || noted == own {
		return err
	}
	return n.inspection.report(finding{
		what:  fmt.Sprintf("the log is another one (%s) than the store was filled from (%s); %s", own, noted, n.lastProgress()),
		would: "goes on with this log from its beginning",
		apply: func() error { return n.db.ReplaceFact(ctx, logFact, own) },
	})
}

// checkPositions compares how far the log was stored with what the log has.
func (n *node) checkPositions(ctx context.Context, filled bool) error {
	positions, err := n.consumer.Committed(ctx, partitionsBelow(n.config.Partitions))
	if err != nil {
		return err
	}
	ranges, err := n.topic.Ranges(ctx)
	if err != nil {
		return err
	}
	var lost, stored, kept int64
	back := make([]kafka.Position, 0, len(positions))
	for _, p := range positions {
		at := ranges[p.Partition]
		lost += max(0, p.Offset-at.End)
		stored += p.Offset
		kept += at.End - at.Start
		back = append(back, kafka.Position{Partition: p.Partition, Offset: at.Start})
	}
	switch {
	case lost > 0:
		return n.inspection.report(finding{
			what:  fmt.Sprintf("%d records were stored and the log now ends %d records before them: it lost its end, and with it what was accepted and not stored; %s", stored, lost, n.lastProgress()),
			would: fmt.Sprintf("goes on from the beginning of what the log has (%d records); what was stored before is not stored again", kept),
			apply: func() error { return n.topic.Reset(ctx, intakeGroup, back) },
		})
	case !filled && stored > startOf(ranges):
		return n.inspection.report(finding{
			what:  fmt.Sprintf("the store is empty, and %d records of this log were stored: the store was lost, or this is another one; restore it from a backup", stored),
			would: fmt.Sprintf("begins a new store, with a first start of its own; what the log still has (%d records) is read again, but belongs to applications that were lost", kept),
			apply: func() error { return n.topic.Reset(ctx, intakeGroup, back) },
		})
	}
	return nil
}

// partitionsBelow returns the numbers of count partitions.
func partitionsBelow(count int) []int {
	all := make([]int, count)
	for partition := range all {
		all[partition] = partition
	}
	return all
}

func startOf(ranges map[int]kafka.Range) (sum int64) {
	for _, at := range ranges {
		sum += at.Start
	}
	return sum
}

// progressFile notes, in the data directory, how far the log was stored: of a log that is lost
// it says how much is lost with it.
const progressFile = "progress.json"

// progressEvery is how often it is written.
const progressEvery = 10 * time.Second

// progress is how far the log was stored at an instant.
type progress struct {
	At       time.Time `json:"at"`
	Accepted int64     `json:"accepted"`
	Stored   int64     `json:"stored"`
}

// keepProgress notes the progress now and then, and at the end.
func (n *node) keepProgress(ctx context.Context) error {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return n.noteProgress(context.WithoutCancel(ctx))
		}
		if err := n.noteProgress(ctx); err != nil && ctx.Err() == nil {
			n.logger.Warn("how far the log is stored could not be noted", "error", err)
		}
	}
}

func (n *node) noteProgress(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lagTime)
	defer cancel()
	ranges, err := n.topic.Ranges(ctx)
	if err != nil {
		return err
	}
	positions, err := n.consumer.Committed(ctx, partitionsBelow(n.config.Partitions))
	if err != nil {
		return err
	}
	now := progress{At: n.now().UTC()}
	for _, p := range positions {
		now.Accepted += ranges[p.Partition].End
		now.Stored += p.Offset
	}
	encoded, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return datadir.Replace(n.dir.Join(progressFile), encoded)
}

// lastProgress says what is known of a log that is gone.
func (n *node) lastProgress() string {
	var last progress
	encoded, err := os.ReadFile(n.dir.Join(progressFile))
	if err == nil {
		err = json.Unmarshal(encoded, &last)
	}
	if err != nil {
		return "nothing is noted of how far it was stored"
	}
	return fmt.Sprintf("at %s it had %d records, of which %d were stored and %d were not", last.At.Format(time.RFC3339), last.Accepted, last.Stored, last.Accepted-last.Stored)
}

// checkKeyFile refuses to make a new master key beside data that another one sealed.
func (n *node) checkKeyFile() error {
	if n.config.MasterKey.Reveal() != "" {
		return nil
	}
	if _, err := os.Stat(n.dir.Join(keyFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := filepath.Glob(n.dir.Join("store/store/*"))
	if err != nil || len(entries) == 0 {
		return err
	}
	return n.inspection.report(finding{
		what:  fmt.Sprintf("the master key %s is gone, and the store beside it has data that it sealed; restore it from a backup, or set SVC_MASTER_KEY", n.dir.Join(keyFile)),
		would: "makes a new key: channels and credentials of model providers have to be entered again, and open consoles end",
		apply: func() error { return nil }, first: true,
	})
}

// keyFile is the master key in the data directory.
const keyFile = backup.KeyFile
