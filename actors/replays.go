package actors

import (
	"context"
	"encoding/hex"

	"svc"
)

// Replays is the client of the replay actors.
type Replays struct {
	Actors caller
}

// Begin claims an idempotency key of a token for a request of a body. It
// returns the sealed answer where the same request has finished, nil where the
// caller now owns the key, and conflict where another request does.
func (r *Replays) Begin(ctx context.Context, token, key string, body [32]byte) ([]byte, error) {
	return ask[[]byte](ctx, r.Actors, kindReplay, replayIdentity(token, key), "begin", beginReplay{Body: hex.EncodeToString(body[:])})
}

// Finish stores the sealed answer of a claimed key; an empty one frees the key.
func (r *Replays) Finish(ctx context.Context, token, key string, body [32]byte, sealed []byte) error {
	_, err := ask[none](ctx, r.Actors, kindReplay, replayIdentity(token, key), "finish", finishReplay{Body: hex.EncodeToString(body[:]), Sealed: sealed})
	return err
}

func replayIdentity(token, key string) string {
	return svc.HashSecretHex("replay:" + token + "\x00" + key)
}
