package ingest

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"net/http"
	"strings"

	"svc"
	"svc/http/route"
)

// errNoKey is the refusal of a request without a key.
var errNoKey = svc.Errorf(svc.CodeUnauthorized, "No ingest key was sent; send it as Authorization: Bearer <key>.")

// challenge says in a header how a refused key is to be sent.
func (i *intakeRequest) challenge(err error) {
	switch {
	case errors.Is(err, errNoKey):
		i.writer.Header().Set("Www-Authenticate", route.ChallengeNone)
	case svc.CodeOf(err) == svc.CodeUnauthorized:
		i.writer.Header().Set("Www-Authenticate", route.ChallengeInvalid)
	}
}

// ingestKey returns the one ingest key of a request. It may stand, in this
// order, in the Authorization header as a bearer token or as the user or password of
// basic credentials, in X-SVC-Key or X-API-Key, in the query as key, or in the body as
// writeKey. Two different keys are refused, and so is an access token.
func ingestKey(r *http.Request, writeKey string) (string, error) {
	var found string
	for _, key := range [...]string{
		authorizationKey(headerOf(r, "Authorization")), headerOf(r, "X-Svc-Key"), headerOf(r, "X-Api-Key"), queryKey(r), writeKey,
	} {
		switch {
		case key == "" || key == found:
		case found == "":
			found = key
		default:
			return "", svc.Errorf(svc.CodeUnauthorized, "The request carries two different ingest keys.")
		}
	}
	switch {
	case found == "":
		return "", errNoKey
	case isAccessToken(found):
		return "", svc.Errorf(svc.CodeUnauthorized, "This is an access token; events are sent with an ingest key (svc_pub_… or svc_sec_…).")
	}
	return found, nil
}

// keyPrefix is how much of a packed body is unpacked to find a key in it.
const keyPrefix = 64 << 10

// authenticateInside finds the collector of a request whose key stands in the body. Of a
// packed body only the beginning is looked at, so that strangers cost no more.
func (i *intakeRequest) authenticateInside() error {
	text := i.body
	if i.encoding() != "" {
		var err error
		if text, err = i.inflate(keyPrefix, 0, keyPrefix); svc.CodeOf(err) == svc.CodeTooLarge {
			text = text[:keyPrefix]
		} else if err != nil {
			return err
		}
	}
	return i.authenticate(writeKeyOf(text))
}

// writeKeyOf finds the member writeKey of a JSON object, which may be cut off.
func writeKeyOf(text []byte) string {
	decoder := stdjson.NewDecoder(bytes.NewReader(text))
	if first, err := decoder.Token(); err != nil || first != stdjson.Delim('{') {
		return ""
	}
	for {
		name, err := decoder.Token()
		if err != nil {
			return ""
		}
		var value stdjson.RawMessage
		if decoder.Decode(&value) != nil {
			return ""
		}
		if name == "writeKey" {
			return textOf(value)
		}
	}
}

// headerOf returns the first value of a header. The name is in the canonical form,
// which http.Header.Get would work out again for every request.
func headerOf(r *http.Request, name string) string {
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// authorizationKey reads the Authorization header.
func authorizationKey(header string) string {
	scheme, value, _ := strings.Cut(header, " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		return strings.TrimSpace(value)
	case strings.EqualFold(scheme, "Basic"):
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
		if err != nil {
			return ""
		}
		user, password, _ := strings.Cut(string(decoded), ":")
		if strings.HasPrefix(password, "svc_") { // as Prometheus is told to send it
			return password
		}
		return user
	}
	return ""
}

// queryKey reads the key of a beacon, which can set no header.
func queryKey(r *http.Request) string {
	if r.URL.RawQuery == "" {
		return ""
	}
	query := r.URL.Query()
	if key := query.Get("key"); key != "" {
		return key
	}
	return query.Get("writeKey")
}

// isAccessToken says whether a secret has the prefix of a management token.
func isAccessToken(secret string) bool {
	for _, kind := range []svc.TokenKind{svc.TokenPersonal, svc.TokenOrganization, svc.TokenAssistant, svc.TokenConsole} {
		if strings.HasPrefix(secret, kind.Prefix()) {
			return true
		}
	}
	return false
}
