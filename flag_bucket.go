package svc

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"sync/atomic"
)

// Whose share a rollout counts.
const bucketByDistinctID = "distinctId"

// bucketFieldOf returns the field of the context that a rollout counts, empty for the distinct id; known is false
// where there is no such field.
func bucketFieldOf(word string) (field string, known bool) {
	switch word {
	case "", bucketByDistinctID:
		return "", true
	case fieldAnonymousID, fieldCompany:
		return word, true
	}
	key, trait := strings.CutPrefix(word, traitPrefix)
	return word, trait && key != "" && len(key) <= maxFieldKey
}

// variantSalt follows the key of a flag where variants are drawn, so that the draw is independent of the rollout.
const variantSalt = "\x00variant"

// FlagBucket returns the place of an id in the rollout of a flag, from 0 to 9999 hundredths of a percent: the first
// four bytes of SHA-256(flag + NUL + id), as a big-endian number, modulo 10000. The id has the flag where its place
// is below the rollout. See docs/flags.md for the published algorithm.
func FlagBucket(flag, id string) int { return bucketOf(flag, "", id) }

// FlagVariantBucket is FlagBucket with the salt of variants, flag + NUL + "variant" + NUL + id. A variant is served
// where its place is below the sum of its weight and those before it.
func FlagVariantBucket(flag, id string) int { return bucketOf(flag, variantSalt, id) }

func bucketOf(flag, salt, id string) int {
	return bucketOfText(append(append(append(append(make([]byte, 0, len(flag)+len(salt)+1+len(id)), flag...), salt...), 0), id...))
}

// bucketOfText returns the place of a flag, its salt, NUL and an id.
func bucketOfText(text []byte) int {
	sum := sha256.Sum256(text)
	return int(binary.BigEndian.Uint32(sum[:4]) % fullWeight)
}

// The draws of a flag.
type flagDraw uint8

const (
	rolloutDraw flagDraw = iota
	variantDraw
)

// bucket returns the caller's place in a draw of the flag, without an allocation.
func (f *CompiledFlag) bucket(draw flagDraw, context *FlagContext) int {
	known := context.draws.of(f)
	if known != nil {
		if place := known.Load() >> (16 * draw) & 0xFFFF; place != 0 {
			return int(place) - 1
		}
	}
	salt := ""
	if draw == variantDraw {
		salt = variantSalt
	}
	context.text = append(append(append(append(context.text[:0], f.Key...), salt...), 0), f.bucketID(context)...)
	place := bucketOfText(context.text)
	if known != nil {
		known.Or(uint32(place+1) << (16 * draw))
	}
	return place
}

// Sizes of what is remembered of draws: at most keptDraws times 4 bytes a flag, and where all flags of an application are fewer than
// drawsWorth, hashing is as fast as looking up.
const (
	keptDraws  = 4096
	seenDraws  = 2 * keptDraws
	drawsWorth = 64
)

// FlagDraws remembers the places of persons in the draws of applications with many flags, since a hash for each flag is most of what
// evaluating all of them costs. A place depends on flag and id alone, so it holds for all definitions. Only who comes again is
// remembered, and others take the memory over. The zero value remembers nobody.
type FlagDraws struct {
	// seen holds the number of whoever came last, known what is remembered, both at the place of that number.
	seen  [seenDraws]atomic.Uint64
	known [keptDraws]atomic.Pointer[personDraws]
}

// personDraws are the places of an id: by the place of the flag, the rollout's in the lower half and the variant's in the upper one,
// each plus one; zero is unknown.
type personDraws struct {
	id      string
	lineage *flagLineage
	places  []atomic.Uint32
}

// of returns the places of a flag, nil where they are not kept. Those of flags that count another id than the distinct one are not.
func (p *personDraws) of(f *CompiledFlag) *atomic.Uint32 {
	if p == nil || f.bucketSlot >= 0 || int(f.place) >= len(p.places) {
		return nil
	}
	return &p.places[f.place]
}

// Recall has the context use what is remembered of its distinct id, whose number spreads ids evenly.
func (c *FlagContext) Recall(draws *FlagDraws, number uint64) {
	if len(c.names.flags) < drawsWorth {
		return
	}
	place := &draws.known[number%keptDraws]
	if known := place.Load(); known != nil && known.lineage == c.names.lineage && known.id == c.DistinctID && len(known.places) == len(c.names.flags) {
		c.draws = known
		return
	}
	if draws.seen[number%seenDraws].Swap(number) != number {
		return
	}
	c.draws = &personDraws{id: strings.Clone(c.DistinctID), lineage: c.names.lineage, places: make([]atomic.Uint32, len(c.names.flags))}
	place.Store(c.draws)
}
