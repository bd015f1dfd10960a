package mailing

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"svc/domain"
)

// Links makes and reads the addresses in messages. It also makes the hashes by which addresses are suppressed.
type Links struct {
	// Key signs; it must stay secret.
	Key []byte
	// Base is the address under which clients reach the service.
	Base string
}

// AddressHash returns 32 hexadecimal digits for an address of an application. Every spelling of the address has the
// same hash.
func (l Links) AddressHash(ref domain.AppRef, address string) string {
	sum := l.sum("address", []byte(ref.String()+"\x00"+strings.ToLower(domain.ASCIIAddress(strings.TrimSpace(address)))))
	return hex.EncodeToString(sum)
}

// macBytes is the length of signatures and hashes.
const macBytes = 16

// sum signs a payload for a purpose.
func (l Links) sum(purpose string, payload []byte) []byte {
	mac := hmac.New(sha256.New, l.Key)
	mac.Write([]byte(purpose + "\x00"))
	mac.Write(payload)
	return mac.Sum(nil)[:macBytes]
}

// The purposes of tokens.
const (
	purposeOpen        = "open"
	purposeClick       = "click"
	purposeUnsubscribe = "unsubscribe"
)

// Paths of the addresses.
const (
	openPath        = "/m/o/"
	clickPath       = "/m/c/"
	unsubscribePath = "/m/u/"
)

// token is the content of an address.
type token struct {
	ref      domain.AppRef
	campaign string
	// number is the number of the recipient, link the number of a link. For an unsubscription, hash is the hash of the
	// address.
	number uint32
	link   uint16
	hash   string
}

// numberBytes is the length of the numbers of a token.
const numberBytes = 6

// seal returns the text of a token.
func (l Links) seal(purpose string, t token) string {
	var payload []byte
	if purpose == purposeUnsubscribe {
		payload, _ = hex.DecodeString(t.hash) // The hash comes from AddressHash.
	} else {
		payload = binary.BigEndian.AppendUint32(payload, t.number)
		payload = binary.BigEndian.AppendUint16(payload, t.link)
	}
	payload = append(payload, t.campaign+"/"+t.ref.String()...)
	return base64.RawURLEncoding.EncodeToString(append(l.sum(purpose, payload), payload...))
}

// open reads a token; ok is false for a token that seal did not make for the purpose.
func (l Links) open(purpose, text string) (t token, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	length := numberBytes
	if purpose == purposeUnsubscribe {
		length = macBytes
	}
	if err != nil || len(raw) < macBytes+length || !hmac.Equal(raw[:macBytes], l.sum(purpose, raw[macBytes:])) {
		return t, false
	}
	numbers := raw[macBytes : macBytes+length]
	if purpose == purposeUnsubscribe {
		t.hash = hex.EncodeToString(numbers)
	} else {
		t.number, t.link = binary.BigEndian.Uint32(numbers), binary.BigEndian.Uint16(numbers[4:])
	}
	parts := strings.SplitN(string(raw[macBytes+length:]), "/", 3)
	if len(parts) != 3 {
		return t, false
	}
	t.campaign, t.ref = parts[0], domain.AppRef{Org: parts[1], App: parts[2]}
	return t, true
}

// unsubscribe is the address of an unsubscription.
func (l Links) unsubscribe(ref domain.AppRef, campaign, address string) string {
	return l.Base + unsubscribePath + l.seal(purposeUnsubscribe, token{ref: ref, campaign: campaign, hash: l.AddressHash(ref, address)})
}
