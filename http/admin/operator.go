package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"svc/domain"
	"svc/domain/signin"
)

// Operator executes the commands of `svc admin`.
type Operator interface {
	User(ctx context.Context, email, name string) (domain.User, error)
	KnownUser(ctx context.Context, email string) (domain.User, error)
	Enter(ctx context.Context, email string) (domain.User, error)
	CreateOrganization(ctx context.Context, owner domain.User, spec domain.OrgSpec) (domain.Organization, error)
	Members(ctx context.Context, org string) ([]domain.Member, error)
	PutMember(ctx context.Context, org string, actor domain.Role, spec domain.MemberSpec) (domain.Member, error)
	RemoveMember(ctx context.Context, org string, actor domain.Role, email string) error
	Tokens(ctx context.Context, owner domain.TokenOwner) ([]domain.Token, error)
	MintToken(ctx context.Context, owner domain.TokenOwner, spec domain.TokenSpec) (domain.Token, domain.Secret, error)
	RevokeToken(ctx context.Context, owner domain.TokenOwner, id string) error
	AdoptToken(ctx context.Context, owner domain.TokenOwner, id string) (domain.Token, error)
	Memberships(ctx context.Context, grant domain.Grant) ([]domain.Membership, error)
	OpenSession(ctx context.Context, spec signin.SessionSpec) (domain.Token, domain.Secret, error)
	NewLink(ctx context.Context, link signin.Link) (domain.Secret, error)
	Organization(ctx context.Context, org string) (domain.Organization, error)
	DeleteOrganization(ctx context.Context, org string) error
	DeleteApplication(ctx context.Context, ref domain.AppRef) (domain.Application, error)
}

// Command is the body of every operator's call; each reads the fields it needs.
type Command struct {
	Org       string         `json:"org,omitempty"`
	Name      string         `json:"name,omitempty"`
	Email     string         `json:"email,omitempty"`
	Role      domain.Role    `json:"role,omitempty"`
	Scopes    []domain.Scope `json:"scopes,omitempty"`
	ExpiresAt *time.Time     `json:"expiresAt,omitempty"`
	ID        string         `json:"id,omitempty"`
	// Environment is the number of an environment; All selects everything.
	Environment uint64 `json:"environment,omitempty,string"`
	All         bool   `json:"all,omitempty"`
	// The rest belongs to audit.list.
	App       string     `json:"app,omitempty"`
	Operation string     `json:"operation,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
	Until     *time.Time `json:"until,omitempty"`
	Before    *time.Time `json:"before,omitempty"`
	BeforeID  string     `json:"beforeId,omitempty"`
	Limit     int        `json:"limit,omitempty"`
}

// Minted is the answer that shows a secret once.
type Minted struct {
	Token  domain.Token `json:"token"`
	Secret string       `json:"secret"`
}

type operator struct {
	port    Operator
	ledger  Ledger
	auditor Auditor
	now     func() time.Time
	logger  *slog.Logger
	console func() string
}

func (o operator) register(mux *http.ServeMux) {
	mux.HandleFunc("POST /admin/v1/login", o.recorded("login", o.login))
	mux.HandleFunc("POST /admin/v1/link", o.recorded("link", o.link))
	mux.HandleFunc("POST /admin/v1/orgs.create", o.recorded("orgs.create", o.createOrg))
	mux.HandleFunc("POST /admin/v1/orgs.delete", o.recorded("orgs.delete", o.deleteOrg))
	mux.HandleFunc("POST /admin/v1/apps.delete", o.recorded("apps.delete", o.deleteApp))
	mux.HandleFunc("POST /admin/v1/members.list", serve(o.listMembers))
	mux.HandleFunc("POST /admin/v1/members.put", o.recorded("members.put", o.putMember))
	mux.HandleFunc("POST /admin/v1/members.remove", o.recorded("members.remove", o.removeMember))
	mux.HandleFunc("POST /admin/v1/tokens.list", serve(o.listTokens))
	mux.HandleFunc("POST /admin/v1/audit.list", serve(o.listAudit))
	mux.HandleFunc("POST /admin/v1/tokens.mint", o.recorded("tokens.mint", o.mintToken))
	mux.HandleFunc("POST /admin/v1/tokens.revoke", o.recorded("tokens.revoke", o.revokeToken))
	mux.HandleFunc("POST /admin/v1/tokens.adopt", o.recorded("tokens.adopt", o.adoptToken))
}

// maxCommand bounds a body, in bytes.
const maxCommand = 64 << 10

// serve reads a command, runs it and writes its answer.
func serve(run func(ctx context.Context, command Command) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		command, err := readCommand(http.MaxBytesReader(w, r.Body, maxCommand))
		if err != nil {
			refuse(w, domain.Invalid(domain.FieldError{Code: "invalid_json", Message: "The body is no JSON of a command: " + err.Error() + "."}))
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

// readCommand reads exactly one command. It refuses unknown members, which may be misspelt.
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

func (o operator) login(ctx context.Context, c Command, done *effect) (any, error) {
	person, err := o.port.Enter(ctx, c.Email)
	if err != nil {
		return nil, err
	}
	orgs, err := o.homes(ctx, person)
	if err != nil {
		return nil, err
	}
	*done = effect{"session.opened", orgs, person.ID}
	token, secret, err := o.port.OpenSession(ctx, signin.SessionSpec{Person: person, By: signin.SessionOfOperator, Method: signin.SignInOperator, Device: "svc admin login"})
	return Minted{token, secret.Reveal()}, err
}

// Linked is the answer that shows a link, once.
type Linked struct {
	Link      string    `json:"link"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// link makes a link that signs a person in to the console, for a person without a passkey.
func (o operator) link(ctx context.Context, c Command, done *effect) (any, error) {
	person, err := o.port.Enter(ctx, c.Email)
	if err != nil {
		return nil, err
	}
	orgs, err := o.homes(ctx, person)
	if err != nil {
		return nil, err
	}
	ends := o.now().Add(signin.SetupTime)
	*done = effect{"session.offered", orgs, person.ID}
	secret, err := o.port.NewLink(ctx, signin.Link{User: person, EndsAt: ends})
	return Linked{Link: SetupLink(o.console(), secret), ExpiresAt: ends}, err
}

// SetupLink returns the address that signs its reader in to the console once. The part after the # stays in the browser
// until the page sends it.
func SetupLink(site string, secret domain.Secret) string {
	return site + "/console#setup=" + secret.Reveal()
}

func (o operator) createOrg(ctx context.Context, c Command, done *effect) (any, error) {
	owner, err := o.port.User(ctx, c.Email, "")
	if err != nil {
		return nil, err
	}
	if c.Org == "" {
		c.Org = domain.Slugify(c.Name)
	}
	done.kind, done.orgs = "organization.created", []string{c.Org}
	org, err := o.port.CreateOrganization(ctx, owner, domain.OrgSpec{Name: c.Name, Slug: c.Org})
	done.subject = org.ID
	return org, err
}

func (o operator) deleteOrg(ctx context.Context, c Command, done *effect) (any, error) {
	org, err := o.port.Organization(ctx, c.Org)
	if err != nil {
		return nil, err
	}
	*done = effect{"organization.deleted", []string{c.Org}, org.ID}
	return struct{}{}, o.port.DeleteOrganization(ctx, c.Org)
}

func (o operator) deleteApp(ctx context.Context, c Command, done *effect) (any, error) {
	app, err := o.port.DeleteApplication(ctx, domain.AppRef{Org: c.Org, App: c.App})
	*done = effect{"app.deleted", []string{c.Org}, app.ID}
	return struct{}{}, err
}

func (o operator) listMembers(ctx context.Context, c Command) (any, error) {
	return o.port.Members(ctx, c.Org)
}

// putMember makes a person a member without an invitation. This gives the operator no new power: they could open a
// session of the person and accept an invitation.
func (o operator) putMember(ctx context.Context, c Command, done *effect) (any, error) {
	done.kind, done.orgs = "member.updated", []string{c.Org}
	member, err := o.port.PutMember(ctx, c.Org, domain.RoleOwner, domain.MemberSpec{Email: c.Email, Name: c.Name, Role: c.Role})
	done.subject = member.User.ID
	return member, err
}

func (o operator) removeMember(ctx context.Context, c Command, done *effect) (any, error) {
	if person, err := o.port.KnownUser(ctx, c.Email); err == nil {
		done.subject = person.ID
	}
	done.kind, done.orgs = "member.removed", []string{c.Org}
	return struct{}{}, o.port.RemoveMember(ctx, c.Org, domain.RoleOwner, c.Email)
}

// owner returns the owner of the tokens of a command: a person. If the command names an organization, it is the
// organization, with tokens minted by that person.
func (o operator) owner(ctx context.Context, c Command) (domain.TokenOwner, error) {
	if c.Email == "" {
		return domain.TokenOwner{Org: c.Org}, nil
	}
	person, err := o.port.KnownUser(ctx, c.Email)
	return domain.TokenOwner{User: person, Org: c.Org}, err
}

func (o operator) listTokens(ctx context.Context, c Command) (any, error) {
	owner, err := o.owner(ctx, c)
	if err != nil {
		return nil, err
	}
	return o.port.Tokens(ctx, owner)
}

// subject returns the owner of tokens, and records the intended change of one of them.
func (o operator) subject(ctx context.Context, c Command, kind domain.LedgerKind, done *effect) (domain.TokenOwner, error) {
	owner, err := o.owner(ctx, c)
	if err != nil {
		return owner, err
	}
	done.kind, done.subject = kind, c.ID
	done.orgs, err = o.concerns(ctx, owner)
	return owner, err
}

func (o operator) mintToken(ctx context.Context, c Command, done *effect) (any, error) {
	if c.Email == "" {
		return nil, domain.Invalid(domain.FieldError{Field: "email", Code: "missing_value", Message: "Name the person whom the token acts as."})
	}
	owner, err := o.subject(ctx, c, "token.created", done)
	if err != nil {
		return nil, err
	}
	if c.ExpiresAt == nil {
		ends := o.now().Add(domain.DefaultTokenLifetime)
		c.ExpiresAt = &ends
	}
	token, secret, err := o.port.MintToken(ctx, owner, domain.TokenSpec{Name: c.Name, Scopes: c.Scopes, ExpiresAt: c.ExpiresAt})
	done.subject = token.ID
	return Minted{token, secret.Reveal()}, err
}

func (o operator) revokeToken(ctx context.Context, c Command, done *effect) (any, error) {
	owner, err := o.subject(ctx, c, "token.revoked", done)
	if err != nil {
		return nil, err
	}
	return struct{}{}, o.port.RevokeToken(ctx, owner, c.ID)
}

func (o operator) adoptToken(ctx context.Context, c Command, done *effect) (any, error) {
	if c.Email == "" || c.Org == "" {
		return nil, domain.Invalid(domain.FieldError{Code: "missing_value", Message: "Name the organization, and the owner whom the token shall act as."})
	}
	owner, err := o.subject(ctx, c, "token.adopted", done)
	if err != nil {
		return nil, err
	}
	return o.port.AdoptToken(ctx, owner, c.ID)
}
