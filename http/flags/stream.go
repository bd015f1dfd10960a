package flags

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/flag"
	"svc/http/route"
)

// Tokens names the stream of an ingest key without the key, since an EventSource can set no header and addresses are
// logged. A token contains the key's hash and the hour in which it was made, and is signed. The same key has the same
// token within an hour, so that a page can use one stream across answers.
type Tokens struct{ Key []byte }

const (
	tokenWindow = time.Hour
	tokenBytes  = 4 + sha256.Size
	macBytes    = 16
)

func (t Tokens) mint(hash [32]byte, now time.Time) string {
	text := binary.BigEndian.AppendUint32(make([]byte, 0, tokenBytes+macBytes), uint32(now.Unix()/int64(tokenWindow/time.Second)))
	text = append(text, hash[:]...)
	return base64.RawURLEncoding.EncodeToString(append(text, t.sign(text)...))
}

func (t Tokens) sign(text []byte) []byte {
	mac := hmac.New(sha256.New, t.Key)
	mac.Write(text)
	return mac.Sum(nil)[:macBytes]
}

// open returns the hash of a token's key and the end of the token: the end of the hour after the one in which it was
// made.
func (t Tokens) open(token string, now time.Time) (hash [32]byte, end time.Time, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(text) != tokenBytes+macBytes || !hmac.Equal(t.sign(text[:tokenBytes]), text[tokenBytes:]) {
		return hash, end, false
	}
	end = time.Unix((int64(binary.BigEndian.Uint32(text))+2)*int64(tokenWindow/time.Second), 0)
	return [32]byte(text[4:tokenBytes]), end, now.Before(end)
}

// streamInput is the request of a stream.
type streamInput struct {
	Key   string `query:"key" doc:"A public ingest key, where no header can be set."`
	Token string `query:"token" doc:"The token of an OFREP answer."`
}

// flagsChanged is a message of a stream: flags have changed, and the client must request them again.
type flagsChanged struct {
	Type         string `json:"type" enum:"refetchEvaluation"`
	Etag         string `json:"etag" doc:"The revision, for flagConfigEtag."`
	LastModified int64  `json:"lastModified" doc:"When it changed, in seconds."`
	Revision     uint64 `json:"revision"`
}

// Times of a stream.
const (
	// heartbeat is the interval at which a quiet stream sends a comment.
	heartbeat = 20 * time.Second
	// streamTime is the longest life of a stream of a key; the client reconnects and its key is checked again.
	streamTime = time.Hour
	// writeTime is the time within which a client must accept a message.
	writeTime = 10 * time.Second
	// recentChange is the age up to which a change is sent to a newly connected client, because its flags may be older.
	recentChange = 10 * time.Second
	// epochEvery is the interval at which a stream checks for scheduled switches.
	epochEvery = 500 * time.Millisecond
)

// subscriber identifies the client of a stream.
type subscriber struct {
	collector *domain.Collector
	hash      [32]byte
	end       time.Time
}

// subscribe returns the client of a stream.
func (f *Flags) subscribe(r *http.Request) (s subscriber, err error) {
	now := f.Now()
	s.end = now.Add(streamTime)
	if token := r.URL.Query().Get("token"); token != "" {
		var ok bool
		if s.hash, s.end, ok = f.Tokens.open(token, now); !ok {
			return s, domain.Errorf(domain.CodeUnauthorized, "The token of the stream has ended or is not one; evaluate again for a new one.")
		}
	} else {
		key, err := f.Authority.Key(r, "")
		if err != nil {
			return s, err
		}
		s.hash = domain.HashSecret(key)
	}
	if s.collector, err = f.Authority.Judge(r, s.hash); err != nil {
		return s, err
	}
	if s.collector.Kind == domain.KeySecret && r.URL.Query().Get("key") != "" {
		return s, domain.Errorf(domain.CodeForbidden, "A secret key does not belong in an address; send it in the Authorization header.")
	}
	return s, allowed(s.collector)
}

// serveStream notifies a client of every change of the flags.
func (f *Flags) serveStream(w *route.Response, r *http.Request) {
	s, err := f.subscribe(r)
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	set, _, since := f.Definitions.Watch(s.collector.App, s.collector.Environment.Slug)
	seen := set.Revision
	if last, err := strconv.ParseUint(r.Header.Get("Last-Event-Id"), 10, 64); err == nil {
		seen = last
	} else if f.Now().Sub(since) < recentChange && seen > 0 {
		seen--
	}
	f.follow(w, r, s, seen, messageOf)
}

// messageOf is the message of a change.
func messageOf(out []byte, set *flag.Set, now time.Time) []byte {
	revision := strconv.FormatUint(set.Revision, 10)
	out = append(append(append(out, "id: "...), revision...), "\ndata: {\"type\":\"refetchEvaluation\",\"etag\":\"\\\""...)
	out = append(append(out, revision...), `\"","lastModified":`...)
	out = strconv.AppendInt(out, now.Unix(), 10)
	return append(append(append(out, `,"revision":`...), revision...), "}\n\n"...)
}

// beginStream begins an answer that is a stream of events, and returns the function that sends one. That function
// reports whether the client is still connected.
func (f *Flags) beginStream(w *route.Response) (send func(text []byte) bool) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // The time-out of requests does not apply to a stream.
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return func(text []byte) bool {
		_ = control.SetWriteDeadline(f.Now().Add(writeTime))
		if _, err := w.Write(text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
}

// follow sends a message for every revision that differs from the client's last one, until the client disconnects, the
// key ends or the service stops. A subscriber costs a connection and a goroutine: a change is published by closing one
// channel, and a slow client gets only the latest revision.
func (f *Flags) follow(w *route.Response, r *http.Request, s subscriber, seen uint64, message func(out []byte, set *flag.Set, now time.Time) []byte) {
	send := f.beginStream(w)
	if !send([]byte("retry: " + strconv.FormatInt(retryAfter.Milliseconds(), 10) + "\n: connected\n\n")) {
		return
	}
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	sent := f.Now()
	first, _, _ := f.Definitions.Watch(s.collector.App, s.collector.Environment.Slug)
	epoch := first.Epoch(sent)
	for {
		set, superseded, _ := f.Definitions.Watch(s.collector.App, s.collector.Environment.Slug)
		now := f.Now()
		if set.Revision != seen || set.Epoch(now) != epoch {
			if !send(message(nil, set, now)) {
				return
			}
			seen, epoch, sent = set.Revision, set.Epoch(now), now
		}
		beat.Reset(untilLook(set, now.Sub(sent)))
		select {
		case <-superseded:
			continue
		case <-r.Context().Done():
			return
		case <-w.Stopping():
			return
		case <-beat.C:
		}
		if now = f.Now(); now.Sub(sent) < heartbeat {
			continue
		}
		if collector, err := f.Authority.Judge(r, s.hash); err != nil || allowed(collector) != nil {
			return
		}
		if !now.Before(s.end) {
			send(message(nil, set, now)) // A client with a token requests the flags again and gets the next token.
			return
		}
		if !send([]byte(": ping\n\n")) {
			return
		}
		sent = now
	}
}

// untilLook returns the time until the next check of a stream; since is the time since its last message.
func untilLook(set *flag.Set, since time.Duration) time.Duration {
	wait := heartbeat - since
	if set.Timed() {
		wait = min(wait, epochEvery)
	}
	return max(wait, time.Millisecond)
}
