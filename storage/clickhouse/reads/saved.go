package reads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"unique"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/filter"
	"svc/storage/lru"
)

const (
	// savedVersion must be incremented if the meaning of the saved counts changes without a change of the queries.
	savedVersion = 1
	// savedBytes limits the saved sets of visitors, separately for each kind. The most recently used ones come first.
	// The values of dimensions are all saved; they take less space in the file than in memory.
	savedBytes = 48 << 20
	// maxSaved limits the size of a loaded file, with room for the encoding.
	maxSaved = 2 * (rankBytes + 2*savedBytes)
)

// savedHeader identifies the store and the queries of a save.
type savedHeader struct {
	Store   string
	Queries [sha256.Size]byte
}

// saved is one cached value of a save. Exactly one of its members is set.
type saved struct {
	Day  *savedDay
	Rank *savedRank
	Past *savedPast
}

// savedDay is a piece of the cache of days.
type savedDay struct {
	Environment      uint64
	Bots, Union      bool
	From, To, Events int64
	Sessions         uint64
	Visitors         []byte // eight little-endian bytes each
}

// savedRank has the sums of a dimension's values on one day.
type savedRank struct {
	Environment                        uint64
	Bots                               bool
	Dimension                          string
	From, To                           int64
	Events, Pageviews, Bounces, Lasted int64
	Values                             []string
	Numbers                            []uint64 // visitors, page views, sessions and bounces of each value
}

// savedPast is the activity of past days.
type savedPast struct {
	Environment      uint64
	Bots, Latest     bool
	Zone             string
	From, To, Events int64
	Visitors         []byte // eight little-endian bytes each
	Days             []uint32
	Gaps             []uint64 // day, day before and visitors of each gap
}

// SaveDays writes the cached counts of past days, so that the first reads after a restart need not recount them.
func (db *Store) SaveDays(ctx context.Context, w io.Writer) error {
	header, err := db.savedHeader(ctx)
	if err != nil {
		return err
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	encoder := gob.NewEncoder(io.MultiWriter(w, sum))
	if err := encoder.Encode(header); err != nil {
		return fmt.Errorf("writing the header: %w", err)
	}
	things := slices.Concat(savePieces(db.pieces), saveRanks(db.ranks), savePast(db.past))
	slices.Reverse(things) // the most recently used value must be loaded last
	for _, thing := range things {
		if err := encoder.Encode(thing); err != nil {
			return fmt.Errorf("writing past days: %w", err)
		}
	}
	if err := binary.Write(w, binary.LittleEndian, sum.Sum32()); err != nil {
		return fmt.Errorf("writing the checksum: %w", err)
	}
	return nil
}

// LoadDays reads the output of SaveDays. It fails and loads nothing if a save is damaged, or comes from another store
// or another version of the program. Every read detects later changes in the store, as it does without a save.
func (db *Store) LoadDays(ctx context.Context, r io.Reader) error {
	content, err := io.ReadAll(io.LimitReader(r, maxSaved))
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	end := len(content) - crc32.Size
	if end < 0 || crc32.Checksum(content[:end], crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(content[end:]) {
		return errors.New("the checksum does not match")
	}
	want, err := db.savedHeader(ctx)
	if err != nil {
		return err
	}
	decoder := gob.NewDecoder(bytes.NewReader(content[:end]))
	var header savedHeader
	if err := decoder.Decode(&header); err != nil {
		return fmt.Errorf("decoding the header: %w", err)
	}
	if header != want {
		return errors.New("it was written for another store or by another version")
	}
	for {
		var thing saved
		if err := decoder.Decode(&thing); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("decoding past days: %w", err)
		}
		db.recall(&thing)
	}
}

// savedHeader returns the header for saves of this store by this program.
func (db *Store) savedHeader(ctx context.Context) (savedHeader, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%d\n", savedVersion)
	for _, name := range slices.Sorted(maps.Keys(db.queries)) {
		fmt.Fprintf(hash, "%q %q\n", name, db.queries[name])
	}
	header := savedHeader{Queries: [sha256.Size]byte(hash.Sum(nil))}
	for _, shard := range db.conn.Shards() {
		var identity string
		err := shard.Read(ctx, "identifying the store", db.queries["store.Identity"], nil, func(rows driver.Rows) (bool, error) {
			return true, rows.Scan(&identity)
		})
		if err != nil {
			return header, err
		}
		header.Store += identity
	}
	return header, nil
}

// recall puts one saved value into its cache.
func (db *Store) recall(thing *saved) {
	switch {
	case thing.Day != nil:
		d := thing.Day
		key := pieceKey{environment: d.Environment, bots: d.Bots, from: d.From, to: d.To, union: d.Union}
		db.keepPiece(key, &piece{events: d.Events, visitors: numbers(string(d.Visitors)), sessions: d.Sessions})
	case thing.Rank != nil:
		r := thing.Rank
		key := rankKey{
			environment: r.Environment, bots: r.Bots, dimension: filter.Dimension(r.Dimension), from: r.From, to: r.To,
			sums: sums{r.Events, r.Pageviews, r.Bounces, r.Lasted},
		}
		day := make([]ranked, len(r.Values))
		for i, value := range r.Values {
			n := r.Numbers[4*i:]
			day[i] = ranked{value: unique.Make(value), visitors: n[0], pageviews: n[1], sessions: n[2], bounces: n[3]}
		}
		db.ranks.Put(key, day, rankedBytes*len(day))
	case thing.Past != nil:
		p := thing.Past
		key := pastKey{environment: p.Environment, bots: p.Bots, zone: p.Zone, from: p.From, to: p.To, events: p.Events, latest: p.Latest}
		activity := &past{visitors: numbers(string(p.Visitors)), days: p.Days}
		for n := range slices.Chunk(p.Gaps, 3) {
			activity.gaps = append(activity.gaps, gap{day: uint32(n[0]), before: uint32(n[1]), visitors: n[2]})
		}
		db.past.Put(key, activity, 12*len(activity.visitors)+16*len(activity.gaps))
	}
}

// savePieces returns the pieces of whole days, the most recently used first. It omits parts of days, because their key
// becomes obsolete within a quarter of an hour.
func savePieces(m *lru.Cache[pieceKey, *piece]) (out []saved) {
	room := savedBytes
	for k, p := range m.All() {
		if len(p.sessionSet) > 0 {
			continue
		}
		if room -= p.bytes(); room < 0 {
			break
		}
		out = append(out, saved{Day: &savedDay{
			Environment: k.environment, Bots: k.bots, Union: k.union, From: k.from, To: k.to, Events: p.events, Sessions: p.sessions, Visitors: packed(p.visitors),
		}})
	}
	return out
}

func saveRanks(m *lru.Cache[rankKey, []ranked]) (out []saved) {
	for k, day := range m.All() {
		r := &savedRank{
			Environment: k.environment, Bots: k.bots, Dimension: string(k.dimension), From: k.from, To: k.to,
			Events: k.sums.events, Pageviews: k.sums.pageviews, Bounces: k.sums.bounces, Lasted: k.sums.lasted,
		}
		for i := range day {
			r.Values = append(r.Values, day[i].value.Value())
			r.Numbers = append(r.Numbers, day[i].visitors, day[i].pageviews, day[i].sessions, day[i].bounces)
		}
		out = append(out, saved{Rank: r})
	}
	return out
}

func savePast(m *lru.Cache[pastKey, *past]) (out []saved) {
	room := savedBytes
	for k, p := range m.All() {
		if room -= 12*len(p.visitors) + 16*len(p.gaps); room < 0 {
			break
		}
		activity := &savedPast{
			Environment: k.environment, Bots: k.bots, Latest: k.latest, Zone: k.zone, From: k.from, To: k.to, Events: k.events,
			Visitors: packed(p.visitors), Days: p.days,
		}
		for _, g := range p.gaps {
			activity.Gaps = append(activity.Gaps, uint64(g.day), uint64(g.before), g.visitors)
		}
		out = append(out, saved{Past: activity})
	}
	return out
}

// packed is the inverse of numbers.
func packed(members []uint64) []byte {
	out := make([]byte, 0, 8*len(members))
	for _, member := range members {
		out = binary.LittleEndian.AppendUint64(out, member)
	}
	return out
}
