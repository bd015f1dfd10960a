package route

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"svc/domain"
)

// Authority checks access tokens and console sessions.
type Authority interface {
	// Authorize returns the grant of a secret for one request of a class in the organization org of the path ("" for
	// none), and the state of the token's limit. It fails with unauthorized if the secret is unknown, revoked or
	// expired. It fails with rate_limited (RetryAfter set) if the limit is used up. It fails with not_found if the
	// organization does not exist or the token cannot address it. grant and state are valid with the latter two errors
	// as well.
	Authorize(ctx context.Context, secret string, class domain.RateClass, org string) (domain.Grant, domain.RateState, error)
}

// The WWW-Authenticate headers (contract 5): for a request without credentials, and for a request with credentials of
// the wrong kind, or unknown, revoked or expired ones.
const (
	ChallengeNone    = `Bearer realm="svc"`
	ChallengeInvalid = `Bearer realm="svc", error="invalid_token"`
)

// principal identifies the caller. The refusal of a secret of the wrong kind names the mistake. Unknown, revoked and
// expired secrets get the same answer.
func (h *Handler) principal(ctx context.Context, call *Call) error {
	if call.Route.Open {
		return h.fromConsole(call.request)
	}
	secret, err := h.secretOf(call)
	if err != nil {
		return err
	}
	call.secret = secret
	grant, rate, err := h.config.Authority.Authorize(ctx, secret, call.Route.Rate, call.Param("org"))
	call.Grant, call.rate = grant, rate
	switch domain.CodeOf(err) {
	case domain.CodeUnauthorized:
		return call.unauthorized(ChallengeInvalid, "The token is unknown, revoked or expired.")
	case domain.CodeRateLimited, domain.CodeNotFound:
		call.refused = err
		return nil
	default:
		return err
	}
}

// secretOf returns the secret of a request. A console session in a cookie is valid for management rows too, but only in
// requests of the console's own pages.
func (h *Handler) secretOf(call *Call) (string, error) {
	surface := call.Route.Surface
	secret, sent := bearer(call.request.Header)
	if cookie, err := call.request.Cookie(CookieName); !sent && err == nil {
		if err := h.fromConsole(call.request); err != nil {
			return "", err
		}
		surface, secret, sent = Console, cookie.Value, true
	}
	if message := refusal(surface, secret, sent); message != "" {
		challenge := ChallengeInvalid
		if !sent {
			challenge = ChallengeNone
		}
		return "", call.unauthorized(challenge, message)
	}
	return secret, nil
}

// refusal returns the reason why a surface does not accept the form of a secret. It is empty if only the authority can
// decide.
func refusal(surface Surface, secret string, sent bool) string {
	switch {
	case !sent:
		return "Send an access token as Authorization: Bearer <token>."
	case strings.HasPrefix(secret, "svc_pub_"), strings.HasPrefix(secret, "svc_sec_"):
		return "This is an ingest key; it sends events and evaluates flags. The management API needs an access token."
	case strings.HasPrefix(secret, domain.TokenLink.Prefix()):
		return "This is the secret of a link, which is opened in a browser; it is no token."
	case surface == Console && isManagementToken(secret):
		return "This is an access token; the console's routes need a console session."
	case surface == Manage && strings.HasPrefix(secret, domain.TokenConsole.Prefix()):
		return "This is a console session; the management API needs an access token."
	case !domain.WellFormedSecret(secret):
		return "The token is unknown, revoked or expired."
	}
	return ""
}

// AccessToken returns the access token of a request to a raw row. It fails with unauthorized if there is no token, or
// if the form of the secret shows that it is not an access token.
func AccessToken(r *http.Request) (domain.Secret, error) {
	secret, sent := bearer(r.Header)
	if message := refusal(Manage, secret, sent); message != "" {
		return "", domain.Errorf(domain.CodeUnauthorized, "%s", message)
	}
	return domain.Secret(secret), nil
}

// isManagementToken reports whether a secret has the prefix of a token that the management surface accepts.
func isManagementToken(secret string) bool {
	return slices.ContainsFunc([]domain.TokenKind{domain.TokenPersonal, domain.TokenOrganization, domain.TokenAssistant},
		func(kind domain.TokenKind) bool { return strings.HasPrefix(secret, kind.Prefix()) })
}

// bearer returns the credentials of an Authorization header of the scheme Bearer.
func bearer(header http.Header) (secret string, sent bool) {
	scheme, secret, _ := strings.Cut(header.Get("Authorization"), " ")
	secret = strings.TrimSpace(secret)
	return secret, strings.EqualFold(scheme, "Bearer") && secret != ""
}

// unauthorized refuses the caller with a challenge.
func (c *Call) unauthorized(challenge, message string) error {
	c.header.Set("Www-Authenticate", challenge)
	return domain.Errorf(domain.CodeUnauthorized, "%s", message)
}
