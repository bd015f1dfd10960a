package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"svc/domain"
)

// signatureTolerance is the maximum age of a signature, as in Stripe's libraries
// (https://docs.stripe.com/webhooks#verify-manually).
const signatureTolerance = 5 * time.Minute

// Signed reports whether the header Stripe-Signature signs a body with one of some secrets at an instant. While a
// secret is being replaced, Stripe signs with both, and the header has several signatures.
func Signed(header string, body []byte, secrets []domain.Secret, now time.Time) bool {
	var stamp string
	var signatures [][]byte
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			stamp = value
		case "v1":
			if sum, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, sum)
			}
		}
	}
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || now.Sub(time.Unix(at, 0)).Abs() > signatureTolerance {
		return false
	}
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret.Reveal()))
		_, _ = mac.Write([]byte(stamp + ".")) // never fails
		_, _ = mac.Write(body)
		sum := mac.Sum(nil)
		for _, signature := range signatures {
			if hmac.Equal(sum, signature) {
				return true
			}
		}
	}
	return false
}
