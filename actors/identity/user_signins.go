package identity

import (
	"context"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/signin"
)

// signInLog holds the last sign-ins of a person, the newest first. It is one entity.
type signInLog struct {
	Rows []signin.SignIn `json:"rows"`
}

const signInsID = "log"

// These are the methods of the user actor.
var (
	userNoteSignIn = grain.On(userKind, "signin.note", (*user).onNoteSignIn, grain.Repeatable)
	userSignIns    = grain.On(userKind, "signins", (*user).onSignIns, grain.Repeatable)
)

// onNoteSignIn notes a sign-in. A failure that repeats the newest row within SignInGrain is not noted again. Thus
// repeated attempts cost no writes.
func (u *user) onNoteSignIn(_ time.Time, m signin.SignIn) (grain.Outcome[grain.None], error) {
	if len(u.signIns) > 0 {
		newest := u.signIns[0]
		same := newest.Method == m.Method && newest.Device == m.Device && newest.Place == m.Place && newest.Failure == m.Failure
		if newest.ID == m.ID || m.Failure != "" && same && m.At.Sub(newest.At) < signin.SignInGrain {
			return grain.Answer(grain.None{}), nil
		}
	}
	u.signIns = append([]signin.SignIn{m}, u.signIns[:min(len(u.signIns), signin.MaxSignIns-1)]...)
	return grain.Answer(grain.None{}, grain.Put("signins", signInsID, signInLog{u.signIns})), nil
}

func (u *user) onSignIns(time.Time, grain.None) (grain.Outcome[[]signin.SignIn], error) {
	return grain.Answer(append([]signin.SignIn{}, u.signIns...)), nil
}

// NoteSignIn notes a sign-in of a person, or a failed one.
func (i *Identity) NoteSignIn(ctx context.Context, person domain.User, signIn signin.SignIn) error {
	signIn.ID, signIn.At = i.Random.NewID(ctx, "sgn_"), i.Now()
	_, err := userNoteSignIn.Ask(ctx, i.Actors, userIdentity(person.Email), signIn)
	return err
}

// SignIns returns the last sign-ins of a person, the newest first.
func (i *Identity) SignIns(ctx context.Context, person domain.User) ([]signin.SignIn, error) {
	return userSignIns.Ask(ctx, i.Actors, userIdentity(person.Email), grain.None{})
}
