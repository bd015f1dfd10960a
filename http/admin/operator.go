package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"svc"
)

// Operator is what `svc admin` may do.
type Operator interface {
	User(ctx context.Context, email, name string) (svc.User, error)
	KnownUser(ctx context.Context, email string) (svc.User, error)
	Enter(ctx context.Context, email string) (svc.User, error)
	CreateOrganization(ctx context.Context, owner svc.User, spec svc.OrgSpec) (svc.Organization, error)
	Members(ctx context.Context, org string) ([]svc.Member, error)
	PutMember(ctx context.Context, org string, actor svc.Role, spec svc.MemberSpec) (svc.Member, error)
	RemoveMember(ctx context.Context, org string, actor svc.Role, email string) error
	Tokens(ctx context.Context, owner svc.TokenOwner) ([]svc.Token, error)
	MintToken(ctx context.Context, owner svc.TokenOwner, spec svc.TokenSpec) (svc.Token, svc.Secret, error)
	RevokeToken(ctx context.Context, owner svc.TokenOwner, id string) error
	AdoptToken(ctx context.Context, owner svc.TokenOwner, id string) (svc.Token, error)
	OpenSession(ctx context.Context, person svc.User, lifetime time.Duration) (svc.Token, svc.Secret, error)
}

// SessionTime is how long a console session lives (decisions, section P).
const SessionTime = 12 * time.Hour

// Command is the body of every operator's call; each reads the fields it needs.
type Command struct {
	Org       string      `json:"org,omitempty"`
	Name      string      `json:"name,omitempty"`
	Email     string      `json:"email,omitempty"`
	Role      svc.Role    `json:"role,omitempty"`
	Scopes    []svc.Scope `json:"scopes,omitempty"`
	ExpiresAt *time.Time  `json:"expiresAt,omitempty"`
	ID        string      `json:"id,omitempty"`
	// Environment is the number of an environment, All says that everything is meant.
	Environment uint64 `json:"environment,omitempty,string"`
	All         bool   `json:"all,omitempty"`
}

// Minted is the answer that shows a secret, once.
type Minted struct {
	Token  svc.Token `json:"token"`
	Secret string    `json:"secret"`
}

type operator struct {
	port Operator
	now  func() time.Time
}

func (o operator) register(mux *http.ServeMux) {
	mux.HandleFunc("POST /admin/v1/login", serve(o.login))
	mux.HandleFunc("POST /admin/v1/orgs.create", serve(o.createOrg))
	mux.HandleFunc("POST /admin/v1/members.list", serve(o.listMembers))
	mux.HandleFunc("POST /admin/v1/members.put", serve(o.putMember))
	mux.HandleFunc("POST /admin/v1/members.remove", serve(o.removeMember))
	mux.HandleFunc("POST /admin/v1/tokens.list", serve(o.listTokens))
	mux.HandleFunc("POST /admin/v1/tokens.mint", serve(o.mintToken))
	mux.HandleFunc("POST /admin/v1/tokens.revoke", serve(o.revokeToken))
	mux.HandleFunc("POST /admin/v1/tokens.adopt", serve(o.adoptToken))
}

// maxCommand bounds a body, in bytes.
const maxCommand = 64 << 10

// serve reads a command, runs it and writes its answer.
func serve(run func(ctx context.Context, command Command) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		command, err := readCommand(http.MaxBytesReader(w, r.Body, maxCommand))
		if err != nil {
			refuse(w, svc.Invalid(svc.FieldError{Code: "invalid_json", Message: "The body is no JSON of a command: " + err.Error() + "."}))
			return
		}
		answer, err := run(r.Context(), command)
		if err != nil {
			refuse(w, err)
			return
		}
		write(w, http.StatusOK, answer)
	}
}

// readCommand reads one command and nothing behind it; a member that no command has is
// refused, since it may be a misspelt one.
func readCommand(body io.Reader) (command Command, err error) {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&command); err != nil {
		return command, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return command, errors.New("something follows the command")
	}
	return command, nil
}

func (o operator) login(ctx context.Context, c Command) (any, error) {
	person, err := o.port.Enter(ctx, c.Email)
	if err != nil {
		return nil, err
	}
	token, secret, err := o.port.OpenSession(ctx, person, SessionTime)
	return Minted{token, secret.Reveal()}, err
}

func (o operator) createOrg(ctx context.Context, c Command) (any, error) {
	owner, err := o.port.User(ctx, c.Email, "")
	if err != nil {
		return nil, err
	}
	return o.port.CreateOrganization(ctx, owner, svc.OrgSpec{Name: c.Name, Slug: c.Org})
}

func (o operator) listMembers(ctx context.Context, c Command) (any, error) {
	return o.port.Members(ctx, c.Org)
}

// putMember seats a person at once: the operator could open a session of theirs and accept.
func (o operator) putMember(ctx context.Context, c Command) (any, error) {
	return o.port.PutMember(ctx, c.Org, svc.RoleOwner, svc.MemberSpec{Email: c.Email, Name: c.Name, Role: c.Role})
}

func (o operator) removeMember(ctx context.Context, c Command) (any, error) {
	return struct{}{}, o.port.RemoveMember(ctx, c.Org, svc.RoleOwner, c.Email)
}

// owner resolves whose tokens a command is about: a person's, or, where an
// organization is named, the organization's as minted by that person.
func (o operator) owner(ctx context.Context, c Command) (svc.TokenOwner, error) {
	if c.Email == "" {
		return svc.TokenOwner{Org: c.Org}, nil
	}
	person, err := o.port.KnownUser(ctx, c.Email)
	return svc.TokenOwner{User: person, Org: c.Org}, err
}

func (o operator) listTokens(ctx context.Context, c Command) (any, error) {
	owner, err := o.owner(ctx, c)
	if err != nil {
		return nil, err
	}
	return o.port.Tokens(ctx, owner)
}

func (o operator) mintToken(ctx context.Context, c Command) (any, error) {
	if c.Email == "" {
		return nil, svc.Invalid(svc.FieldError{Field: "email", Code: "missing_value", Message: "Name the person whom the token acts as."})
	}
	owner, err := o.owner(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.ExpiresAt == nil {
		ends := o.now().Add(svc.DefaultTokenLifetime)
		c.ExpiresAt = &ends
	}
	token, secret, err := o.port.MintToken(ctx, owner, svc.TokenSpec{Name: c.Name, Scopes: c.Scopes, ExpiresAt: c.ExpiresAt})
	return Minted{token, secret.Reveal()}, err
}

func (o operator) revokeToken(ctx context.Context, c Command) (any, error) {
	owner, err := o.owner(ctx, c)
	if err != nil {
		return nil, err
	}
	return struct{}{}, o.port.RevokeToken(ctx, owner, c.ID)
}

func (o operator) adoptToken(ctx context.Context, c Command) (any, error) {
	if c.Email == "" || c.Org == "" {
		return nil, svc.Invalid(svc.FieldError{Code: "missing_value", Message: "Name the organization, and the owner whom the token shall act as."})
	}
	owner, err := o.owner(ctx, c)
	if err != nil {
		return nil, err
	}
	return o.port.AdoptToken(ctx, owner, c.ID)
}
