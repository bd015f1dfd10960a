package svc

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
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

// inlineBucket is the length of flag and id up to which a place is found without an allocation.
const inlineBucket = 256

func bucketOf(flag, salt, id string) int {
	var inline [inlineBucket]byte
	text := append(append(append(append(inline[:0], flag...), salt...), 0), id...)
	sum := sha256.Sum256(text)
	return int(binary.BigEndian.Uint32(sum[:4]) % fullWeight)
}
