package route

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"svc/domain"
	"svc/domain/ingest"
)

// Replays stores the answers of requests that carried an Idempotency-Key, for 24 hours per token.
type Replays interface {
	// Begin claims a key for a request. If the same request has finished, the claim contains the stored answer;
	// otherwise the caller now owns the key. Every repetition gets the same claim. Begin fails with conflict if the key
	// belongs to another request (body differs) or if the same request is still in progress.
	Begin(ctx context.Context, token, key string, body [sha256.Size]byte) (ingest.ReplayClaim, error)
	// Finish stores the answer of the claimed key; an empty answer lets the same request be made again.
	Finish(ctx context.Context, token, key string, body [sha256.Size]byte, sealed []byte) error
}

// maxIdempotencyKey is the longest Idempotency-Key, in bytes.
const maxIdempotencyKey = 255

// once performs a request at most once per Idempotency-Key: a repetition gets the first answer again, marked
// Idempotent-Replayed. Answers of status 500 and above, and 429, are not stored, so that a later attempt may succeed.
// That attempt makes the same ids and secrets, so it finds and answers any change that the first attempt saved. Stored
// bodies may contain a secret that is shown once. They are therefore sealed with a key that only the bearer of the
// token can derive. Open rows have no token under which an answer could be stored.
func (h *Handler) once(ctx context.Context, call *Call, body []byte, perform func(ctx context.Context) (Answer, error)) (Answer, error) {
	key := call.request.Header.Get("Idempotency-Key")
	if key == "" || call.Route.Method != http.MethodPost || call.Route.Open || h.config.Replays == nil {
		return perform(ctx)
	}
	if len(key) > maxIdempotencyKey || unclean(key) {
		return Answer{}, domain.Invalid(domain.FieldError{Field: "Idempotency-Key", Code: "invalid_value", Message: "The Idempotency-Key is longer than 255 bytes or no text."})
	}
	request := fingerprint(call.request, body)
	claim, err := h.config.Replays.Begin(ctx, call.Grant.Token.ID, key, request)
	if err != nil {
		return Answer{}, err
	}
	seal, err := newSeal(call.secret, key, request)
	if err != nil {
		return Answer{}, err
	}
	if claim.Sealed != nil {
		return seal.open(claim.Sealed)
	}
	draws := domain.NewDraws(drawSeed(call.secret, key, claim.Nonce), claim.At, claim.Repeated)
	drawing := domain.WithDraws(ctx, draws)
	call.trailID = domain.DrawID(drawing, "", func(string) string { return call.trailID })
	answer, err := perform(drawing)
	kept := answer
	if err != nil {
		kept = h.problemAnswer(err, call.RequestID, call.Route)
	}
	var sealed []byte
	if kept.Status < http.StatusInternalServerError && kept.Status != http.StatusTooManyRequests {
		sealed = seal.close(kept, h.config.Random)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	if err := h.config.Replays.Finish(ctx, call.Grant.Token.ID, key, request, sealed); err != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "storing an idempotent answer", slog.String("request", call.RequestID), slog.String("error", err.Error()))
	}
	return answer, err
}

// fingerprint distinguishes requests under one Idempotency-Key.
func fingerprint(r *http.Request, body []byte) [sha256.Size]byte {
	hash := sha256.New()
	for _, part := range []string{r.Method, r.URL.Path, r.URL.RawQuery} {
		hash.Write([]byte(part))
		hash.Write([]byte{0})
	}
	hash.Write(body)
	return [sha256.Size]byte(hash.Sum(nil))
}

// drawSeed returns the seed of the ids and secrets of a request. It can be derived only with both the caller's secret
// and the stored nonce.
func drawSeed(secret, key string, nonce []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("draws\x00" + key + "\x00"))
	mac.Write(nonce)
	return mac.Sum(nil)
}

// seal encrypts stored bodies.
type seal struct{ aead cipher.AEAD }

// newSeal derives the seal of a request from the caller's secret. The service itself stores only a hash of that secret.
func newSeal(secret, key string, request [sha256.Size]byte) (*seal, error) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("idempotency\x00" + key + "\x00"))
	mac.Write(request[:])
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &seal{aead: aead}, nil
}

// close returns an encrypted answer, nil if encryption fails.
func (s *seal) close(answer Answer, random io.Reader) []byte {
	clear, err := json.Marshal(answer)
	nonce := make([]byte, s.aead.NonceSize())
	if _, readErr := io.ReadFull(random, nonce); err != nil || readErr != nil {
		return nil
	}
	return s.aead.Seal(nonce, nonce, clear, nil)
}

// open decrypts a stored answer and marks it as a repetition.
func (s *seal) open(sealed []byte) (Answer, error) {
	size := s.aead.NonceSize()
	if len(sealed) < size {
		return Answer{}, errors.New("a stored answer is cut short")
	}
	clear, err := s.aead.Open(nil, sealed[:size], sealed[size:], nil)
	if err != nil {
		return Answer{}, fmt.Errorf("opening a stored answer: %w", err)
	}
	answer := Answer{Header: map[string]string{}}
	if err := json.Unmarshal(clear, &answer); err != nil {
		return Answer{}, fmt.Errorf("reading a stored answer: %w", err)
	}
	answer.Header["Idempotent-Replayed"] = "true"
	return answer, nil
}
