package identity

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/ingest"
)

// Replays is the client of the replay actors.
type Replays struct {
	Actors grain.Caller
}

// Begin claims an idempotency key of a token for a request with a body. If the same request has finished, the claim has
// the sealed answer; otherwise the caller owns the key. It fails with conflict if another request owns it.
func (r *Replays) Begin(ctx context.Context, token, key string, body [32]byte) (ingest.ReplayClaim, error) {
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	return replayBegin.Ask(ctx, r.Actors, replayIdentity(token, key), beginReplay{Body: hex.EncodeToString(body[:]), Nonce: nonce})
}

// Finish stores the sealed answer of a claimed key; an empty one lets the request be made again.
func (r *Replays) Finish(ctx context.Context, token, key string, body [32]byte, sealed []byte) error {
	_, err := replayFinish.Ask(ctx, r.Actors, replayIdentity(token, key), finishReplay{Body: hex.EncodeToString(body[:]), Sealed: sealed})
	return err
}

func replayIdentity(token, key string) string {
	return domain.HashSecretHex("replay:" + token + "\x00" + key)
}
