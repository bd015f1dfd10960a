package flag

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
)

// The id that a rollout uses.
const bucketByDistinctID = "distinctId"

// bucketFieldOf returns the context field that a rollout uses, empty for the distinct id; known is false if there is no
// such field.
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

// variantSalt follows the key of a flag in the draw of variants, so that the draw is independent of the rollout.
const variantSalt = "\x00variant"

// Bucket returns the place of an id in the rollout of a flag, from 0 to 9999 hundredths of a percent: the first
// four bytes of SHA-256(flag + NUL + id), as a big-endian number, modulo 10000. The id has the flag if its place is
// below the rollout. See docs/flags.md for the published algorithm.
func Bucket(flag, id string) int { return bucketOf(flag, "", id) }

// VariantBucket is Bucket with the salt of variants, flag + NUL + "variant" + NUL + id. A variant is served if
// the place is below the sum of its weight and all weights before it.
func VariantBucket(flag, id string) int { return bucketOf(flag, variantSalt, id) }

func bucketOf(flag, salt, id string) int {
	return bucketOfText(append(append(append(append(make([]byte, 0, len(flag)+len(salt)+1+len(id)), flag...), salt...), 0), id...))
}

// bucketOfText returns the place of a text: a flag, its salt, NUL and an id.
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
func (f *CompiledFlag) bucket(draw flagDraw, context *Context) int {
	salt := ""
	if draw == variantDraw {
		salt = variantSalt
	}
	context.text = append(append(append(append(context.text[:0], f.Key...), salt...), 0), f.bucketID(context)...)
	return bucketOfText(context.text)
}
