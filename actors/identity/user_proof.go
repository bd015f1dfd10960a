package identity

import (
	"context"
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
)

// userRecord is the stored form of a person. It includes the proof that the account belongs to the owner of the
// address.
type userRecord struct {
	domain.User
	// Proof is empty if the account was made through a link that its inviter could read. Records of earlier versions
	// have no proof.
	Proof signin.Proof `json:"proof,omitempty"`
}

type (
	vouchFor struct {
		User domain.User `json:"user"`
		// Create makes the account if it does not exist. If Create is not set, an open invitation is needed.
		Create bool `json:"create,omitempty"`
	}
	registerPerson struct {
		User    domain.User          `json:"user"`
		Passkey conversation.Passkey `json:"passkey"`
		// Mailed reports that the person opened a link that was mailed to the address.
		Mailed bool `json:"mailed,omitempty"`
	}
	proveAddress struct {
		// Session is the session that opened the mailed link.
		Session string `json:"session"`
	}
	// entered is a person, with the tokens and sessions that end.
	entered struct {
		domain.User
		// Ending holds the identities of token actors. They are stored until a caller has revoked them.
		Ending []string `json:"ending,omitempty"`
	}
	revoked struct {
		Hashes []string `json:"hashes"`
	}
	account struct {
		Known bool         `json:"known"`
		Proof signin.Proof `json:"proof,omitempty"`
	}
)

// These are the methods of the user actor.
var (
	userVouch    = grain.On(userKind, "vouch", (*user).onVouch, grain.Repeatable)
	userRegister = grain.On(userKind, "register", (*user).onRegister)
	userProve    = grain.On(userKind, "prove", (*user).onProve, grain.Repeatable)
	userAccount  = grain.On(userKind, "account", (*user).onAccount, grain.Repeatable)
	userRevoked  = grain.On(userKind, "revoked", (*user).onRevoked, grain.Repeatable)
)

// onVouch returns the person named by the operator. A known person's name does not change. If nothing proves the
// account, everything that opens it ends: the first person invited under the address may have made it.
func (u *user) onVouch(now time.Time, m vouchFor) (grain.Outcome[entered], error) {
	var writes []grain.Write
	switch {
	case u.user == nil && !m.Create:
		invited := u.inviterName(now)
		if invited == nil {
			return grain.Outcome[entered]{}, domain.NotFound("user")
		}
		m.User.Name = *invited
		writes = u.prove(m.User, signin.ProofOperator)
	case u.user == nil:
		writes = u.prove(m.User, signin.ProofOperator)
	case u.user.Proof == "":
		writes = append(u.drop(""), u.prove(u.user.User, signin.ProofOperator)...)
	}
	return u.answerEntered(writes), nil
}

// onRegister makes the account of an invited person with its first passkey. A mailed link also opens an account that
// nothing proves. In this case everything that opened the account before ends.
func (u *user) onRegister(_ time.Time, m registerPerson) (grain.Outcome[entered], error) {
	proof := signin.Proof("")
	if m.Mailed {
		proof = signin.ProofMail
	}
	var writes []grain.Write
	switch {
	case u.user == nil:
		writes = u.prove(m.User, proof)
	case m.Mailed && u.user.Proof == "":
		writes = append(u.drop(""), u.prove(u.user.User, proof)...)
	default:
		return grain.Outcome[entered]{}, signInFirst()
	}
	u.passkeys[m.Passkey.ID] = m.Passkey
	return u.answerEntered(append(writes, grain.Put("passkey", m.Passkey.ID, m.Passkey))), nil
}

func signInFirst() error {
	return &domain.Error{Code: domain.CodeConflict, Reason: "sign_in_first", Message: "You are known here. Sign in with your passkey, and accept the invitation then."}
}

// onProve notes that a session of the person opened a mailed link. If nothing proved the account before, only this
// session and its passkey stay.
func (u *user) onProve(_ time.Time, m proveAddress) (grain.Outcome[entered], error) {
	if u.user.Proof != "" {
		return u.answerEntered(nil), nil
	}
	return u.answerEntered(append(u.drop(m.Session), u.prove(u.user.User, signin.ProofMail)...)), nil
}

func (u *user) onAccount(time.Time, grain.None) (grain.Outcome[account], error) {
	if u.user == nil {
		return grain.Answer(account{}), nil
	}
	return grain.Answer(account{Known: true, Proof: u.user.Proof}), nil
}

func (u *user) onRevoked(_ time.Time, m revoked) (grain.Outcome[grain.None], error) {
	var writes []grain.Write
	for _, hash := range m.Hashes {
		if _, ending := u.ending[hash]; ending {
			delete(u.ending, hash)
			writes = append(writes, grain.Delete("ending", hash))
		}
	}
	return grain.Answer(grain.None{}, writes...), nil
}

func (u *user) answerEntered(writes []grain.Write) grain.Outcome[entered] {
	return grain.Answer(entered{User: u.user.User, Ending: slices.Sorted(maps.Keys(u.ending))}, writes...)
}

// prove stores the person with a proof.
func (u *user) prove(person domain.User, proof signin.Proof) []grain.Write {
	if person.Name == "" {
		person.Name = person.Email
	}
	u.user = &userRecord{User: person, Proof: proof}
	return []grain.Write{grain.Put("user", person.ID, *u.user)}
}

// drop ends everything that opens the account, except for one session and its passkey.
func (u *user) drop(except string) (writes []grain.Write) {
	kept := u.sessions[except].Passkey
	for _, id := range slices.Sorted(maps.Keys(u.passkeys)) {
		if id != kept {
			delete(u.passkeys, id)
			writes = append(writes, grain.Delete("passkey", id))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(u.tokens)) {
		hash := u.tokens[id].Hash
		delete(u.tokens, id)
		writes = append(append(writes, grain.Delete("token", id)), u.end(hash)...)
	}
	for _, id := range slices.Sorted(maps.Keys(u.sessions)) {
		if id != except {
			writes = append(writes, u.endSession(id)...)
		}
	}
	u.ceremonies = nil
	return writes
}

// end remembers a token that is to be revoked.
func (u *user) end(hash string) []grain.Write {
	u.ending[hash] = grain.None{}
	return []grain.Write{grain.Put("ending", hash, grain.None{})}
}

// inviterName returns the name in the open invitation that ends first. It returns nil if no invitation is open.
func (u *user) inviterName(now time.Time) *string {
	var first *noteOffer
	for _, offer := range u.offers {
		if now.Before(offer.ExpiresAt) && (first == nil || offer.ExpiresAt.Before(first.ExpiresAt)) {
			first = &offer
		}
	}
	if first == nil {
		return nil
	}
	return &first.Name
}

// User returns the person of an e-mail address, on the word of the operator. If there is no account, it makes one with
// the name. A known person's name does not change. Everything that opens an account without proof ends.
func (i *Identity) User(ctx context.Context, email, name string) (domain.User, error) {
	normal, ok := domain.NormaliseEmail(email)
	if !ok {
		return domain.User{}, domain.Invalid(domain.FieldError{Field: "email", Code: "invalid_email", Message: "The e-mail address does not parse."})
	}
	return i.vouch(ctx, vouchFor{User: domain.User{ID: i.Random.NewID(ctx, "usr_"), Email: normal, Name: name}, Create: true})
}

// Enter returns the person of an e-mail address that the operator lets in, as User does. It fails with not_found for an
// address without an account and without an open invitation.
func (i *Identity) Enter(ctx context.Context, email string) (domain.User, error) {
	normal, ok := domain.NormaliseEmail(email)
	if !ok {
		return domain.User{}, domain.NotFound("user")
	}
	return i.vouch(ctx, vouchFor{User: domain.User{ID: i.Random.NewID(ctx, "usr_"), Email: normal}})
}

func (i *Identity) vouch(ctx context.Context, message vouchFor) (domain.User, error) {
	identity := userIdentity(message.User.Email)
	known, err := userVouch.Ask(ctx, i.Actors, identity, message)
	if err != nil {
		return domain.User{}, err
	}
	return known.User, i.revokeAll(ctx, identity, known.Ending)
}

// MayRegister fails with conflict if the person of a link has an account that the link does not open.
func (i *Identity) MayRegister(ctx context.Context, link signin.Link) error {
	known, err := userAccount.Ask(ctx, i.Actors, userIdentity(link.User.Email), grain.None{})
	if err == nil && known.Known && (known.Proof != "" || !link.Mailed) {
		err = signInFirst()
	}
	return err
}

// Register makes the account of an invited person with its first passkey. The rule of MayRegister applies.
func (i *Identity) Register(ctx context.Context, link signin.Link, key conversation.Passkey) (domain.User, conversation.Passkey, error) {
	identity := userIdentity(link.User.Email)
	key.ID = i.Random.NewID(ctx, "key_")
	person := link.User
	person.ID = i.Random.NewID(ctx, "usr_")
	made, err := userRegister.Ask(domain.WithCarrier(ctx, nil), i.Actors, identity, registerPerson{User: person, Passkey: key, Mailed: link.Mailed})
	if err != nil {
		return domain.User{}, key, err
	}
	return made.User, key, i.revokeAll(ctx, identity, made.Ending)
}

// ProveAddress notes that a session of a person opened a link that was mailed to the address. If nothing proved the
// account before, only this session and its passkey stay.
func (i *Identity) ProveAddress(ctx context.Context, person domain.User, session string) error {
	identity := userIdentity(person.Email)
	proved, err := userProve.Ask(ctx, i.Actors, identity, proveAddress{Session: session})
	if err != nil {
		return err
	}
	return i.revokeAll(ctx, identity, proved.Ending)
}

// revokeAll revokes the tokens of a person that end. Afterwards it asks the person's actor to forget them.
func (i *Identity) revokeAll(ctx context.Context, person string, hashes []string) error {
	if len(hashes) == 0 {
		return nil
	}
	ctx = domain.WithCarrier(ctx, nil)
	for _, hash := range hashes {
		_, err := tokenRevoke.Ask(ctx, i.Actors, hash, grain.None{})
		if code := domain.CodeOf(err); err != nil && code != domain.CodeNotFound && code != domain.CodeUnauthorized {
			return err
		}
	}
	_, err := userRevoked.Ask(ctx, i.Actors, person, revoked{Hashes: hashes})
	return err
}
