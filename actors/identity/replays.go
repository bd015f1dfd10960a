package identity

import (
	"context"
	"encoding/hex"

	"svc"
	"svc/actors/grain"
)

// Replays is the client of the replay actors.
type Replays struct {
	Actors grain.Caller
}

// Begin claims an idempotency key of a token for a request of a body. It
// returns the sealed answer where the same request has finished, nil where the
// caller now owns the key, and conflict where another request does.
func (r *Replays) Begin(ctx context.Context, token, key string, body [32]byte) ([]byte, error) {
	return replayBegin.Ask(ctx, r.Actors, replayIdentity(token, key), beginReplay{Body: hex.EncodeToString(body[:])})
}

// Finish stores the sealed answer of a claimed key; an empty one frees the key.
func (r *Replays) Finish(ctx context.Context, token, key string, body [32]byte, sealed []byte) error {
	_, err := replayFinish.Ask(ctx, r.Actors, replayIdentity(token, key), finishReplay{Body: hex.EncodeToString(body[:]), Sealed: sealed})
	return err
}

func replayIdentity(token, key string) string {
	return svc.HashSecretHex("replay:" + token + "\x00" + key)
}
