package actors

import (
	"maps"
	"slices"
	"time"

	"svc"
)

// The organization's tokens, of the organization actor. Its list says whom each acts as;
// the token's own actor knows whether the secret is live.
type (
	addToken struct {
		Token tokenRecord `json:"token"`
	}
	findToken struct {
		ID string `json:"id"`
	}
	adoptToken struct {
		ID     string `json:"id"`
		UserID string `json:"userId"`
	}
	// tokenSeat is a token as its organization has it, with the seat that it uses.
	tokenSeat struct {
		Token      tokenRecord    `json:"token"`
		Membership svc.Membership `json:"membership"`
	}
)

func orgTokenHandlers() map[string]handler[*organization] {
	return map[string]handler[*organization]{
		"token.add":    on((*organization).onAddToken),
		"token.find":   on((*organization).onFindToken),
		"token.remove": on((*organization).onRemoveToken),
		"token.use":    on((*organization).onUseToken),
		"token.used":   on((*organization).onTokenUsed),
		"token.adopt":  on((*organization).onAdoptToken),
		"tokens":       on((*organization).onTokens),
	}
}

func (o *organization) onAddToken(_ time.Time, m addToken) (outcome, error) {
	o.tokens[m.Token.ID] = m.Token
	return outcome{answer: none{}, writes: []write{{"token", m.Token.ID, m.Token}}}, nil
}

func (o *organization) onFindToken(_ time.Time, m findToken) (outcome, error) {
	return findTokenIn(o.tokens, m.ID)
}

func (o *organization) onRemoveToken(_ time.Time, m findToken) (outcome, error) {
	return removeTokenFrom(o.tokens, m.ID)
}

func (o *organization) onTokens(time.Time, none) (outcome, error) {
	records := sortedTokens(o.tokens)
	for i := range records {
		records[i].Orphaned = o.orphaned(records[i])
	}
	return outcome{answer: records}, nil
}

// orphaned says whether a token acts as nobody who sits here.
func (o *organization) orphaned(record tokenRecord) bool {
	if record.Orphaned || record.User == nil {
		return true
	}
	_, seated := o.members[record.User.ID]
	return !seated
}

// orphan ends the tokens of a person who leaves. A return does not revive them: who was
// removed because a token leaked is not to bring it back.
func (o *organization) orphan(user string) (writes []write) {
	for _, record := range sortedTokens(o.tokens) {
		if record.User == nil || record.User.ID != user || record.Orphaned {
			continue
		}
		record.Orphaned = true
		o.tokens[record.ID] = record
		writes = append(writes, write{"token", record.ID, record})
	}
	return writes
}

// onUseToken returns what a token of the organization does here now: the seat of the
// person whom it acts as. It opens nothing where that person has left.
func (o *organization) onUseToken(_ time.Time, m findToken) (outcome, error) {
	record, listed := o.tokens[m.ID]
	if !listed || o.orphaned(record) {
		return outcome{}, svc.Errorf(svc.CodeUnauthorized, "The token is unknown, revoked or expired.")
	}
	role := o.members[record.User.ID].Role
	return outcome{answer: tokenSeat{Token: record, Membership: svc.Membership{Organization: *o.org, Role: role}}}, nil
}

// onAdoptToken has a token act as an owner of the organization from now on. Only one that
// acts as nobody can be adopted, so that nobody's token is taken away.
func (o *organization) onAdoptToken(_ time.Time, m adoptToken) (outcome, error) {
	record, listed := o.tokens[m.ID]
	if !listed {
		return outcome{}, svc.NotFound("token")
	}
	owner, seated := o.members[m.UserID]
	if !seated || owner.Role != svc.RoleOwner {
		return outcome{}, &svc.Error{Code: svc.CodeForbidden, Reason: "role_required", Message: "Only an owner of the organization adopts its tokens."}
	}
	if !o.orphaned(record) {
		if record.User.ID == m.UserID {
			return outcome{answer: record}, nil
		}
		return outcome{}, &svc.Error{Code: svc.CodeConflict, Reason: "not_orphaned", Message: "The token acts as a member; only one whose person has left can be adopted."}
	}
	record.User, record.Orphaned = &owner.User, false
	o.tokens[m.ID] = record
	return outcome{answer: record, writes: []write{{"token", record.ID, record}}}, nil
}

func (o *organization) onTokenUsed(now time.Time, m findToken) (outcome, error) {
	return noteTokenIn(o.tokens, m.ID, now)
}

// noteTokenIn notes that a token is used now, unless that was noted shortly before.
func noteTokenIn(tokens map[string]tokenRecord, id string, now time.Time) (outcome, error) {
	record, found := tokens[id]
	if !found {
		return outcome{}, svc.NotFound("token")
	}
	used := record.Used(now)
	if used == nil {
		return outcome{answer: none{}}, nil
	}
	record.LastUsedAt = used
	tokens[id] = record
	return outcome{answer: none{}, writes: []write{{"token", id, record}}}, nil
}

// sortedTokens returns tokens, the newest first.
func sortedTokens(tokens map[string]tokenRecord) []tokenRecord {
	return slices.SortedFunc(maps.Values(tokens), func(a, b tokenRecord) int { return compareStrings(b.ID, a.ID) })
}

func findTokenIn(tokens map[string]tokenRecord, id string) (outcome, error) {
	token, found := tokens[id]
	if !found {
		return outcome{}, svc.NotFound("token")
	}
	return outcome{answer: token}, nil
}

func removeTokenFrom(tokens map[string]tokenRecord, id string) (outcome, error) {
	if _, found := tokens[id]; !found {
		return outcome{}, svc.NotFound("token")
	}
	delete(tokens, id)
	return outcome{answer: none{}, writes: []write{{"token", id, nil}}}, nil
}
