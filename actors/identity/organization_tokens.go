package identity

import (
	"maps"
	"slices"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/domain"
)

// The organization's tokens, part of the organization actor. Its list names the user as which each token acts; the
// token's own actor knows whether the secret is live.
type (
	addToken struct {
		Token tokenRecord `json:"token"`
		// Session is the console session that asks for a personal token; the operator has none.
		Session string `json:"session,omitempty"`
	}
	findToken struct {
		ID string `json:"id"`
	}
	adoptToken struct {
		ID     string `json:"id"`
		UserID string `json:"userId"`
	}
	// tokenSeat is a token in the organization's list, with the seat that it uses.
	tokenSeat struct {
		Token      tokenRecord       `json:"token"`
		Membership domain.Membership `json:"membership"`
	}
)

// The methods of the organization actor.
var (
	organizationAddToken    = grain.On(organizationKind, "token.add", (*organization).onAddToken)
	organizationFindToken   = grain.On(organizationKind, "token.find", (*organization).onFindToken, grain.Repeatable)
	organizationRemoveToken = grain.On(organizationKind, "token.remove", (*organization).onRemoveToken)
	organizationUseToken    = grain.On(organizationKind, "token.use", (*organization).onUseToken, grain.Repeatable)
	organizationTokenUsed   = grain.On(organizationKind, "token.used", (*organization).onTokenUsed, grain.Repeatable)
	organizationAdoptToken  = grain.On(organizationKind, "token.adopt", (*organization).onAdoptToken)
	organizationTokens      = grain.On(organizationKind, "tokens", (*organization).onTokens, grain.Repeatable)
)

func (o *organization) onAddToken(_ time.Time, m addToken) (grain.Outcome[grain.None], error) {
	o.tokens[m.Token.ID] = m.Token
	return grain.Answer(grain.None{}, grain.Put("token", m.Token.ID, m.Token)), nil
}

func (o *organization) onFindToken(_ time.Time, m findToken) (grain.Outcome[tokenRecord], error) {
	return findTokenIn(o.tokens, m.ID)
}

func (o *organization) onRemoveToken(_ time.Time, m findToken) (grain.Outcome[grain.None], error) {
	return removeTokenFrom(o.tokens, m.ID)
}

func (o *organization) onTokens(time.Time, grain.None) (grain.Outcome[[]tokenRecord], error) {
	records := sortedTokens(o.tokens)
	for i := range records {
		records[i].Orphaned = o.orphaned(records[i])
	}
	return grain.Answer(records), nil
}

// orphaned reports whether a token acts as a user that is not a member.
func (o *organization) orphaned(record tokenRecord) bool {
	if record.Orphaned || record.User == nil {
		return true
	}
	_, seated := o.members[record.User.ID]
	return !seated
}

// orphan ends the tokens of a user that leaves. They stay ended if the user returns: a user that was removed because a
// token leaked must not bring it back.
func (o *organization) orphan(user string) (writes []grain.Write) {
	for _, record := range sortedTokens(o.tokens) {
		if record.User == nil || record.User.ID != user || record.Orphaned {
			continue
		}
		record.Orphaned = true
		o.tokens[record.ID] = record
		writes = append(writes, grain.Put("token", record.ID, record))
	}
	return writes
}

// onUseToken returns the current seat of a token of the organization, which is the seat of its user. It fails if that
// user has left.
func (o *organization) onUseToken(_ time.Time, m findToken) (grain.Outcome[tokenSeat], error) {
	record, listed := o.tokens[m.ID]
	if !listed || o.orphaned(record) {
		return grain.Outcome[tokenSeat]{}, domain.Errorf(domain.CodeUnauthorized, "The token is unknown, revoked or expired.")
	}
	role := o.members[record.User.ID].Role
	return grain.Answer(tokenSeat{Token: record, Membership: domain.Membership{Organization: o.org.Organization, Role: role}}), nil
}

// onAdoptToken makes a token act as an owner of the organization from now on. Only an orphaned token can be adopted, so
// that no token is taken away from a member.
func (o *organization) onAdoptToken(_ time.Time, m adoptToken) (grain.Outcome[tokenRecord], error) {
	record, listed := o.tokens[m.ID]
	if !listed {
		return grain.Outcome[tokenRecord]{}, domain.NotFound("token")
	}
	owner, seated := o.members[m.UserID]
	if !seated || owner.Role != domain.RoleOwner {
		return grain.Outcome[tokenRecord]{}, &domain.Error{Code: domain.CodeForbidden, Reason: "role_required", Message: "Only an owner of the organization adopts its tokens."}
	}
	if !o.orphaned(record) {
		if record.User.ID == m.UserID {
			return grain.Answer(record), nil
		}
		return grain.Outcome[tokenRecord]{}, &domain.Error{Code: domain.CodeConflict, Reason: "not_orphaned", Message: "The token acts as a member; only one whose person has left can be adopted."}
	}
	record.User, record.Orphaned = &owner.User, false
	o.tokens[m.ID] = record
	return grain.Answer(record, grain.Put("token", record.ID, record)), nil
}

func (o *organization) onTokenUsed(now time.Time, m findToken) (grain.Outcome[grain.None], error) {
	return noteTokenIn(o.tokens, m.ID, now)
}

// noteTokenIn records that a token is used now, unless a use was recorded shortly before.
func noteTokenIn(tokens map[string]tokenRecord, id string, now time.Time) (grain.Outcome[grain.None], error) {
	record, found := tokens[id]
	if !found {
		return grain.Outcome[grain.None]{}, domain.NotFound("token")
	}
	used := record.Used(now)
	if used == nil {
		return grain.Answer(grain.None{}), nil
	}
	record.LastUsedAt = used
	tokens[id] = record
	return grain.Answer(grain.None{}, grain.Put("token", id, record)), nil
}

// sortedTokens returns tokens, the newest first.
func sortedTokens(tokens map[string]tokenRecord) []tokenRecord {
	return slices.SortedFunc(maps.Values(tokens), func(a, b tokenRecord) int { return strings.Compare(b.ID, a.ID) })
}

func findTokenIn(tokens map[string]tokenRecord, id string) (grain.Outcome[tokenRecord], error) {
	token, found := tokens[id]
	if !found {
		return grain.Outcome[tokenRecord]{}, domain.NotFound("token")
	}
	return grain.Answer(token), nil
}

func removeTokenFrom(tokens map[string]tokenRecord, id string) (grain.Outcome[grain.None], error) {
	if _, found := tokens[id]; !found {
		return grain.Outcome[grain.None]{}, domain.NotFound("token")
	}
	delete(tokens, id)
	return grain.Answer(grain.None{}, grain.Delete("token", id)), nil
}
