package integrity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"svc/storage/datadir"
)

// known holds a node's notes of the last successful comparison. With them the node knows the identity of its data while
// the store of shard 0, which holds it, is unavailable.
type known struct {
	Set    string `json:"dataSet"`
	Key    string `json:"key"`
	Log    string `json:"log"`
	Shards int    `json:"shards"`
	// FirstStart says that the secrets of the first start were shown.
	FirstStart bool `json:"firstStart"`
	// Restored is the RestoredFact.
	Restored string `json:"restored,omitempty"`
}

// checkKnown compares the log, the key and the list of shards with the node's notes, and leaves the store for
// [Identity.Admit]. If something is missing in the notes or differs, the start waits for the store.
func (i *Identity) checkKnown(ctx context.Context) error {
	own, err := i.present(ctx)
	if err != nil {
		return err
	}
	noted, err := i.readKnown()
	if err != nil {
		return err
	}
	own.Set, own.FirstStart, own.Restored = noted.Set, noted.FirstStart, noted.Restored
	if noted.Set == "" || own != noted {
		return i.Admit(ctx, 0)
	}
	if err := i.checkPositions(ctx, true); err != nil {
		return err
	}
	if err := i.Inspection.Verdict(); err != nil {
		return err
	}
	i.set = noted.Set
	i.keep(noted)
	for shard := 1; shard < noted.Shards; shard++ {
		if i.Store.Away(shard) {
			continue
		}
		if err := i.checkShard(ctx, shard, i.set, true); err != nil {
			return err
		}
	}
	return nil
}

// Admit opens a store that was unavailable, completes it and compares it with the rest of the installation.
func (i *Identity) Admit(ctx context.Context, shard int) error {
	return i.Store.Admit(ctx, shard, func(ctx context.Context) error {
		if err := i.Returned(ctx, shard); err != nil {
			return err
		}
		if shard == 0 {
			return i.check(ctx)
		}
		return i.checkShard(ctx, shard, i.set, true)
	})
}

// present returns the present values.
func (i *Identity) present(ctx context.Context) (now known, err error) {
	if now.Key, err = i.Key(); err != nil {
		return now, err
	}
	now.Log, err = i.Log.ClusterID(ctx)
	now.Shards = i.Store.ShardCount()
	return now, err
}

// note records a successful comparison.
func (i *Identity) note(ctx context.Context, firstStart bool, restored string) error {
	now, err := i.present(ctx)
	if err != nil {
		return err
	}
	now.Set, now.FirstStart, now.Restored = i.set, firstStart, restored
	i.keep(now)
	return i.writeKnown()
}

// keep remembers the values of a successful comparison.
func (i *Identity) keep(now known) {
	i.known = now
	if at, err := time.Parse(time.RFC3339Nano, now.Restored); err == nil {
		i.restored.Store(&at)
	}
}

// FirstStarted reports whether it is certain that the secrets of the first start were shown.
func (i *Identity) FirstStarted() bool { return i.known.FirstStart }

// NoteFirstStart records that the secrets of the first start were shown.
func (i *Identity) NoteFirstStart() error {
	if i.known.FirstStart {
		return nil
	}
	i.known.FirstStart = true
	return i.writeKnown()
}

func (i *Identity) readKnown() (noted known, err error) {
	encoded, err := os.ReadFile(i.Known)
	if errors.Is(err, fs.ErrNotExist) {
		return noted, nil
	}
	if err == nil {
		err = json.Unmarshal(encoded, &noted)
	}
	if err != nil {
		return noted, fmt.Errorf("reading whose data this is: %w", err)
	}
	return noted, nil
}

func (i *Identity) writeKnown() error {
	encoded, err := json.Marshal(i.known)
	if err != nil {
		return err
	}
	return datadir.Replace(i.Known, encoded)
}
