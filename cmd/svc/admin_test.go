package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/operator"
	"svc/cmd/svc/process"
	"svc/domain"
)

// admin runs one operator's command against a server.
func (s *server) admin(args ...string) (map[string]any, error) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	if err := operator.Run(context.Background(), append(args, "--addr", s.operatorAddr(), "--token-file", filepath.Join(s.dir, operator.TokenFile)), &stdout, &stderr); err != nil {
		return nil, err
	}
	var answer map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil && !strings.HasPrefix(stdout.String(), "[") {
		s.t.Fatalf("%v answers %s", args, stdout.String())
	}
	return answer, nil
}

// operatorAddr finds the operator's listener in the server's output.
func (s *server) operatorAddr() string {
	_, rest, _ := strings.Cut(s.output.String(), "operator: http://")
	addr, _, _ := strings.Cut(rest, ")")
	return addr
}

// TestTheOperatorManagesPeopleAndTokens follows an operator's day: a new member with a token, the console session, and
// the end of both.
func TestTheOperatorManagesPeopleAndTokens(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	must := func(args ...string) map[string]any {
		t.Helper()
		answer, err := s.admin(args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return answer
	}
	must("members", "put", "--org", "acme", "--email", "Ada@acme.example", "--name", "Ada", "--role", "viewer")
	minted := must("tokens", "mint", "--email", "ada@acme.example", "--name", "laptop", "--scopes", "read,write")
	token := minted["secret"].(string)
	me := object(t, s.call("GET", "/api/v1/me", token, nil, nil).body)
	if me["user"].(map[string]any)["name"] != "Ada" || !strings.HasPrefix(token, "svc_pat_") || !domain.WellFormedSecret(token) {
		t.Errorf("the token %s… describes %v", token[:8], me)
	}
	if got := s.call("GET", appPath, token, nil, nil); got.status != 200 {
		t.Errorf("a viewer reads the application: %d %s", got.status, got.body)
	}
	if got := s.call("PATCH", appPath, token, []byte(`{"name":"x"}`), nil); got.status != 403 {
		t.Errorf("a viewer changes the application: %d %s", got.status, got.body)
	}

	session := must("login", "--email", "owner@acme.example")["secret"].(string)
	if got := s.call("GET", "/console/api/v1/orgs/acme/members", session, nil, nil); got.status != 200 || !strings.Contains(string(got.body), "ada@acme.example") {
		t.Errorf("the console lists members: %d %s", got.status, got.body)
	}
	if got := s.call("GET", "/api/v1/me", session, nil, nil); got.status != 401 {
		t.Errorf("a console session opens the management API: %d %s", got.status, got.body)
	}

	must("members", "remove", "--org", "acme", "--email", "ada@acme.example")
	if got := s.call("GET", appPath, token, nil, nil); got.status != 404 {
		t.Errorf("after leaving, the next request: %d %s", got.status, got.body)
	}
	must("tokens", "revoke", "--email", "ada@acme.example", "--id", minted["token"].(map[string]any)["id"].(string))
	if got := s.call("GET", "/api/v1/me", token, nil, nil); got.status != 401 {
		t.Errorf("after revoking: %d %s", got.status, got.body)
	}
	for _, c := range []struct {
		args     []string
		contains string
	}{
		{[]string{"members", "remove", "--org", "acme", "--email", "owner@acme.example"}, "last owner"},
		{[]string{"login", "--email", "nobody@acme.example"}, "No such user"},
		{[]string{"orgs", "create", "--name", "Acme", "--owner", "owner@acme.example"}, "already used"},
		{[]string{"members", "put", "--org", "acme", "--email", "x@acme.example", "--role", "king"}, "Unknown role"},
	} {
		if _, err := s.admin(c.args...); err == nil || !strings.Contains(err.Error(), c.contains) {
			t.Errorf("%v: %v, want %q", c.args, err, c.contains)
		}
	}
}

func TestAdminExplainsItself(t *testing.T) {
	var stderr bytes.Buffer
	if err := operator.Run(context.Background(), []string{"members", "eat"}, &stderr, &stderr); !errors.Is(err, cli.ErrUsage) || !strings.Contains(stderr.String(), "tokens mint") {
		t.Errorf("%v: %s", err, stderr.String())
	}
	file := filepath.Join(t.TempDir(), operator.TokenFile)
	if _, err := operator.OpenToken(file, process.NewRandom().Bytes); err != nil {
		t.Fatal(err)
	}
	err := operator.Run(context.Background(), []string{"login", "--email", "a@b.example", "--addr", freeAddress(t), "--token-file", file}, &stderr, &stderr)
	if err == nil || !strings.Contains(err.Error(), "svc serve") {
		t.Errorf("without a server: %v", err)
	}
}

// TestAStrangerIsInvitedAndAccepts follows an invited person from the invitation to the seat. Nothing is disclosed
// about the person before, and the ledger records everything.
func TestAStrangerIsInvitedAndAccepts(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	session := func(email string) string {
		t.Helper()
		opened, err := s.admin("login", "--email", email)
		if err != nil {
			t.Fatal(err)
		}
		return opened["secret"].(string)
	}
	owner := session("owner@acme.example")
	if _, err := s.admin("orgs", "create", "--name", "Elsewhere", "--owner", "secret.name@elsewhere.example"); err != nil {
		t.Fatal(err)
	}
	ask := func(as, method, path, body string, status int) string {
		t.Helper()
		got := s.call(method, "/console/api/v1"+path, as, []byte(body), nil)
		if got.status != status {
			t.Fatalf("%s %s: %d %s, want %d", method, path, got.status, got.body, status)
		}
		return string(got.body)
	}
	strip := func(body string) string {
		return regexp.MustCompile(`inv_\w+|20\d\d-[^"]+|(no)?body@|secret.name@`).ReplaceAllString(body, "")
	}
	known := ask(owner, "PUT", "/orgs/acme/members/secret.name@elsewhere.example", `{"role":"member"}`, 202)
	unknown := ask(owner, "PUT", "/orgs/acme/members/nobody@elsewhere.example", `{"role":"member"}`, 202)
	if strip(known) != strip(unknown) || !strings.Contains(known, `"id":null`) {
		t.Errorf("a known person shows:\n%s\n%s", known, unknown)
	}
	invited := session("nobody@elsewhere.example")
	ask(invited, "GET", "/orgs/acme/members", "", 404)
	if offers := ask(invited, "GET", "/me/invitations", "", 200); !strings.Contains(offers, `"slug":"acme"`) || !strings.Contains(offers, `"invitedBy":"Owner"`) {
		t.Errorf("the invitations: %s", offers)
	}
	ask(invited, "POST", "/me/invitations/acme/accept", "", 200)
	ask(invited, "POST", "/me/invitations/acme/accept", "", 404)
	if members := ask(invited, "GET", "/orgs/acme/members", "", 200); strings.Count(members, `"active"`) != 2 || strings.Count(members, `"invited"`) != 1 {
		t.Errorf("the members: %s", members)
	}
	ask(session("secret.name@elsewhere.example"), "DELETE", "/me/invitations/acme", "", 204)
	entries := ask(owner, "GET", "/orgs/acme/ledger?limit=100", "", 200)
	for _, kind := range []string{"member.invited", "member.joined", "member.declined"} {
		if !strings.Contains(entries, `"`+kind+`"`) {
			t.Errorf("the ledger has no %s: %s", kind, entries)
		}
	}
}

// TestWhatTheOperatorDoesIsWritten checks the ledger and the audit entries of the first start, the operator and a
// person with personal tokens.
func TestWhatTheOperatorDoesIsWritten(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	must := func(args ...string) map[string]any {
		t.Helper()
		answer, err := s.admin(args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return answer
	}
	must("members", "put", "--org", "acme", "--email", "ada@acme.example", "--role", "viewer")
	minted := must("tokens", "mint", "--email", "ada@acme.example", "--name", "laptop")["token"].(map[string]any)["id"].(string)
	must("tokens", "revoke", "--email", "ada@acme.example", "--id", minted)
	must("members", "remove", "--org", "acme", "--email", "ada@acme.example")
	if _, err := s.admin("members", "remove", "--org", "acme", "--email", "ada@acme.example"); err == nil {
		t.Error("a member is removed twice")
	}
	session := must("login", "--email", "owner@acme.example")["secret"].(string)
	own := object(t, s.call("POST", "/console/api/v1/me/tokens", session, []byte(`{"name":"own","scopes":["admin"]}`), nil).body)
	if got := s.call("DELETE", "/api/v1/me/tokens/"+own["id"].(string), own["token"].(string), nil, nil); got.status != 204 {
		t.Fatalf("revoking one's own: %d %s", got.status, got.body)
	}

	var kinds []string
	for _, row := range object(t, s.call("GET", "/console/api/v1/orgs/acme/ledger?limit=100", session, nil, nil).body)["data"].([]any) {
		entry := row.(map[string]any)
		kinds = append(kinds, fmt.Sprint(entry["kind"], " ", entry["metadata"].(map[string]any)["via"], " ", entry["actor"].(map[string]any)["name"]))
	}
	slices.Reverse(kinds)
	first, operator := "first start Operator", "operator Operator"
	want := []string{"organization.created " + first, "app.created " + first}
	for range 6 {
		want = append(want, "key.created "+first)
	}
	want = append(want, "token.created "+first,
		"member.updated "+operator, "token.created "+operator, "token.revoked "+operator, "member.removed "+operator, "session.opened "+operator,
		"token.created console Owner", "token.revoked manage Owner")
	if !slices.Equal(kinds, want) {
		t.Errorf("the ledger tells\n%s\nwant\n%s", strings.Join(kinds, "\n"), strings.Join(want, "\n"))
	}
	if check := object(t, s.call("GET", "/console/api/v1/orgs/acme/ledger/check", session, nil, nil).body); check["intact"] != true {
		t.Errorf("the ledger: %v", check)
	}

	var said []string
	page := must("audit", "--since", "1h", "--limit", "4")
	for {
		for _, row := range page["rows"].([]any) {
			row := row.(map[string]any)
			said = append(said, fmt.Sprint(row["operation"], " ", row["status"]))
		}
		if page["before"] == nil {
			break
		}
		page = must("audit", "--since", "1h", "--limit", "4", "--before", page["before"].(string), "--before-id", page["beforeId"].(string))
	}
	wantRows := []string{
		"me.revokeToken 204", "console.tokens.create 201", "operator.login 200", "operator.members.remove 404", "operator.members.remove 200",
		"operator.tokens.revoke 200", "operator.tokens.mint 200", "operator.members.put 200",
	}
	slices.Sort(said)
	slices.Sort(wantRows)
	if !slices.Equal(said, wantRows) {
		t.Errorf("the audit rows are %q, want %q", said, wantRows)
	}
	if rows := must("audit", "--org", "acme", "--operation", "operator.members.put")["rows"].([]any); len(rows) != 1 {
		t.Errorf("rows of one operation: %v", rows)
	}
}

func TestAWrongLifetimeMintsNothing(t *testing.T) {
	for _, lifetime := range []string{"-5h", "0s", "never"} {
		var stderr bytes.Buffer
		err := operator.Run(context.Background(), []string{"tokens", "mint", "--email", "a@b.example", "--name", "n", "--expires", lifetime, "--token-file", "nowhere"}, &stderr, &stderr)
		if !errors.Is(err, cli.ErrUsage) || !strings.Contains(stderr.String(), "expires") {
			t.Errorf("%s: %v %s", lifetime, err, stderr.String())
		}
	}
}
