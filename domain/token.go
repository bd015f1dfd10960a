package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Scope is a coarse right of a token.
type Scope string

// The scopes; each includes none of the others.
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
	ScopeAdmin Scope = "admin"
)

// Scopes lists all scopes.
func Scopes() []Scope { return []Scope{ScopeRead, ScopeWrite, ScopeAdmin} }

// Values lists the scopes.
func (Scope) Values() []Scope { return Scopes() }

// Permission is the fine-grained right that a route requires.
type Permission string

// The permissions (contract 18).
const (
	PermOrgRead            Permission = "org.read"
	PermAppsRead           Permission = "apps.read"
	PermAppsWrite          Permission = "apps.write"
	PermKeysRead           Permission = "keys.read"
	PermKeysWrite          Permission = "keys.write"
	PermAnalyticsRead      Permission = "analytics.read"
	PermAnalyticsWrite     Permission = "analytics.write"
	PermEventsRead         Permission = "events.read"
	PermPeopleRead         Permission = "people.read"
	PermPeopleWrite        Permission = "people.write"
	PermPeoplePIIRead      Permission = "people.pii.read"
	PermMetricsRead        Permission = "metrics.read"
	PermMetricsWrite       Permission = "metrics.write"
	PermFlagsRead          Permission = "flags.read"
	PermFlagsWrite         Permission = "flags.write"
	PermCommunicationsRead Permission = "communications.read"
	PermRevenueRead        Permission = "revenue.read"
	PermDestinationsRead   Permission = "destinations.read"
	PermDestinationsWrite  Permission = "destinations.write"
	PermErrorsRead         Permission = "errors.read"
	PermErrorsWrite        Permission = "errors.write"
	PermAIUse              Permission = "ai.use"
)

// Permissions lists all permissions in display order.
func Permissions() []Permission {
	return []Permission{
		PermOrgRead, PermAppsRead, PermAppsWrite, PermKeysRead, PermKeysWrite,
		PermAnalyticsRead, PermAnalyticsWrite, PermEventsRead,
		PermPeopleRead, PermPeopleWrite, PermPeoplePIIRead,
		PermMetricsRead, PermMetricsWrite, PermFlagsRead, PermFlagsWrite,
		PermCommunicationsRead, PermRevenueRead, PermDestinationsRead, PermDestinationsWrite,
		PermErrorsRead, PermErrorsWrite, PermAIUse,
	}
}

// Values lists the permissions.
func (Permission) Values() []Permission { return Permissions() }

// scopeOf returns the scope that a permission requires (the endpoint tables of the specification: keys require admin).
func scopeOf(p Permission) Scope {
	switch {
	case p == PermKeysRead, p == PermKeysWrite:
		return ScopeAdmin
	case strings.HasSuffix(string(p), ".write"):
		return ScopeWrite
	default:
		return ScopeRead
	}
}

// rolePermissions returns the permissions of a role (contract 12).
func rolePermissions(role Role) []Permission {
	allowed := func(p Permission) bool {
		switch role {
		case RoleOwner, RoleAdmin:
			return true
		case RoleMember:
			return p != PermKeysRead && p != PermKeysWrite && p != PermAppsWrite && p != PermPeoplePIIRead
		case RoleViewer:
			return strings.HasSuffix(string(p), ".read") && p != PermPeoplePIIRead && p != PermKeysRead
		}
		return false
	}
	var out []Permission
	for _, p := range Permissions() {
		if allowed(p) {
			out = append(out, p)
		}
	}
	return out
}

// EffectivePermissions returns exactly the permissions of a token with these scopes for a member with this role.
func EffectivePermissions(role Role, scopes []Scope) []Permission {
	out := []Permission{}
	for _, p := range rolePermissions(role) {
		// ai.use reads conversations with read and asks with write. The route's own scope decides; the permission shows
		// with either scope.
		if slices.Contains(scopes, scopeOf(p)) || p == PermAIUse && slices.Contains(scopes, ScopeWrite) {
			out = append(out, p)
		}
	}
	return out
}

// TokenKind is the kind of a token's holder.
type TokenKind string

// The kinds of access token.
const (
	TokenPersonal     TokenKind = "personal"
	TokenOrganization TokenKind = "organization"
	TokenAssistant    TokenKind = "assistant"
	TokenConsole      TokenKind = "console"
	// TokenLink opens no route: it is the secret of a link that signs a person in once.
	TokenLink TokenKind = "link"
)

// Values lists the kinds.
func (TokenKind) Values() []TokenKind {
	return []TokenKind{TokenPersonal, TokenOrganization, TokenAssistant, TokenConsole, TokenLink}
}

// Prefix returns the prefix of every token of a kind.
func (k TokenKind) Prefix() string {
	switch k {
	case TokenPersonal:
		return "svc_pat_"
	case TokenOrganization:
		return "svc_org_"
	case TokenAssistant:
		return "svc_agt_"
	case TokenConsole:
		return "svc_con_"
	case TokenLink:
		return "svc_lnk_"
	}
	return ""
}

// Token is the record of an access token. The token itself is never stored: its SHA-256 identifies this record.
type Token struct {
	ID     string    `json:"id"`
	Kind   TokenKind `json:"kind"`
	Name   string    `json:"name"`
	Scopes []Scope   `json:"scopes"`
	// User is the person that the token acts as; nil if it is bound to no person.
	User *User `json:"user"`
	// Org is the only organization that an organization token addresses, by slug.
	Org       string     `json:"org,omitempty"`
	Last4     string     `json:"last4"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt"`
	RevokedAt *time.Time `json:"revokedAt"`
	// LastUsedAt is when the token was last used, at most UseGrain late; nil if it never was.
	LastUsedAt *time.Time `json:"lastUsedAt"`
	// Orphaned marks an organization token whose person has left the organization. It is refused everywhere until an
	// owner of the organization adopts it.
	Orphaned bool `json:"orphaned,omitempty"`
	// Hash is the SHA-256 of the token in hex.
	Hash string `json:"-"`
}

// UseGrain is the interval at which the use of a token is recorded: a busy token costs one write per interval.
const UseGrain = 10 * time.Minute

// Used returns the time of last use to record for a use at an instant; nil if the recorded time is close enough.
func (t *Token) Used(at time.Time) *time.Time {
	if t.LastUsedAt != nil && at.Sub(*t.LastUsedAt) < UseGrain {
		return nil
	}
	at = at.UTC().Truncate(time.Minute)
	return &at
}

// Live reports whether the token is valid at an instant.
func (t *Token) Live(now time.Time) bool {
	return t.RevokedAt == nil && (t.ExpiresAt == nil || now.Before(*t.ExpiresAt))
}

// Grant is the set of rights of one request: the token, its owner's membership as read for this request, and the
// permissions that remain.
type Grant struct {
	Token Token
	// Role is the owner's role in the addressed organization; empty if the route addresses none.
	Role        Role
	Permissions []Permission
}

// May reports whether the grant holds a permission; the empty permission is held by all.
func (g *Grant) May(p Permission) bool { return p == "" || slices.Contains(g.Permissions, p) }

// HasScope reports whether the token carries a scope.
func (g *Grant) HasScope(s Scope) bool { return s == "" || slices.Contains(g.Token.Scopes, s) }

// Secret is a token or key in plain text. It prints and logs as a mask.
type Secret string

// String returns a mask.
func (s Secret) String() string { return "•••" }

// LogValue returns a mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue("•••") }

// Reveal returns the secret itself, for the one answer that shows it.
func (s Secret) Reveal() string { return string(s) }

// secretBody and secretSum are the lengths after the prefix (contract 14).
const (
	secretBody = 32
	secretSum  = 6
	base62     = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// TokenPattern matches every access token and ingest key; secret scanners may use it.
const TokenPattern = `svc_(?:(?:pat|org|agt|con|lnk)|(?:pub|sec)_[A-Za-z0-9]{1,8})_[0-9A-Za-z]{38}`

// MintSecret builds a secret from a prefix and random bytes: 32 base62 characters and a CRC32 in six more, so that a
// typo is detected without a look-up. It needs at least 32 random bytes.
func MintSecret(prefix string, random []byte) Secret {
	body := make([]byte, secretBody)
	for i := range body {
		body[i] = base62[int(random[i])%len(base62)]
	}
	return Secret(prefix + string(body) + checksum(prefix+string(body)))
}

// checksum returns the CRC32 of s in six base62 characters.
func checksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	out := make([]byte, secretSum)
	for i := secretSum - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out)
}

// WellFormedSecret reports whether s has the form (TokenPattern) and the checksum of a token or key.
func WellFormedSecret(s string) bool {
	begin, cut := len(s)-secretBody-secretSum, len(s)-secretSum
	if begin <= 0 || !isBase62(s[begin:]) || !isSecretPrefix(s[:begin]) {
		return false
	}
	return checksum(s[:cut]) == s[cut:]
}

// isSecretPrefix reports whether s is a prefix of tokens or keys.
func isSecretPrefix(s string) bool {
	for _, kind := range TokenKind("").Values() {
		if s == kind.Prefix() {
			return true
		}
	}
	key, ok := strings.CutPrefix(s, "svc_pub_")
	if !ok {
		key, ok = strings.CutPrefix(s, "svc_sec_")
	}
	environment, closed := strings.CutSuffix(key, "_")
	return ok && closed && environment != "" && len(environment) <= 8 && isBase62(environment)
}

func isBase62(s string) bool {
	for i := range len(s) {
		if strings.IndexByte(base62, s[i]) < 0 {
			return false
		}
	}
	return true
}

// HashSecret returns the SHA-256 under which a secret is stored and found.
func HashSecret(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

// HashSecretHex returns HashSecret in hex.
func HashSecretHex(s string) string {
	sum := HashSecret(s)
	return hex.EncodeToString(sum[:])
}
