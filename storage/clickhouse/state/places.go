package state

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"svc/domain"
)

// placeFact begins the name of a fact with the shard of an environment. The authoritative copy is in the tables of the
// shard that the environment's number selects. The shard with the environment also has the fact about itself, and no
// other shard does. A rebuild of the first shard needs that copy.
const placeFact = "moved "

// NotePlace durably stores the shard of an environment, and updates this process. It is idempotent.
func (db *Store) NotePlace(ctx context.Context, environment uint64, shard int) error {
	name, value := placeFact+strconv.FormatUint(environment, 10), strconv.Itoa(shard)
	shards := db.conn.Shards()
	for _, on := range []int{db.conn.ShardOf(environment), shard, domain.ShardOf(environment)} { // the last write takes effect
		if on >= len(shards) {
			return fmt.Errorf("environment %d lives on shard %d of %d", environment, on, len(shards))
		}
		if err := db.setFact(ctx, shards[on], "installation.Replace", name, value); err != nil {
			return err
		}
	}
	db.conn.Place(environment, shard)
	return nil
}

// RestorePlaces stores the places of environments again in the tables of lost shards, for the environments with numbers
// that select these shards. It takes the places from the facts of the other shards about themselves.
func (db *Store) RestorePlaces(ctx context.Context, lost []int) error {
	for shard, conn := range db.conn.Shards() {
		facts, err := db.facts(ctx, conn)
		if err != nil {
			return err
		}
		for name, value := range facts {
			number, isPlace := strings.CutPrefix(name, placeFact)
			if !isPlace || value != strconv.Itoa(shard) {
				continue
			}
			environment, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				return fmt.Errorf("reading where an environment lives: %w", err)
			}
			if !slices.Contains(lost, domain.ShardOf(environment)) {
				continue
			}
			if err := db.NotePlace(ctx, environment, shard); err != nil {
				return err
			}
		}
	}
	return nil
}

// LearnPlaces loads the places of the environments with numbers that select a shard into this process.
func (db *Store) LearnPlaces(ctx context.Context, shard int) error {
	shards := db.conn.Shards()
	if len(shards) == 1 {
		return nil
	}
	facts, err := db.facts(ctx, shards[shard])
	if err != nil {
		return err
	}
	for name, value := range facts {
		number, isPlace := strings.CutPrefix(name, placeFact)
		if !isPlace {
			continue
		}
		environment, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return fmt.Errorf("reading where an environment lives: %w", err)
		}
		lives, err := strconv.Atoi(value)
		if err != nil || lives < 0 || lives >= len(shards) {
			return fmt.Errorf("environment %d lives on shard %q, which is not listed", environment, value)
		}
		if domain.ShardOf(environment) == shard {
			db.conn.Place(environment, lives)
		}
	}
	return nil
}
