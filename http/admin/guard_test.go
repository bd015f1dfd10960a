package admin_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
	"svc/http/admin"
)

const bearer = "svc_opr_known"

// people is an operator's port with one organization.
type people struct{ admin.Operator }

func (people) Members(context.Context, string) ([]domain.Member, error) {
	return []domain.Member{}, nil
}

func newListener() http.Handler {
	return admin.New(admin.Config{
		Gatherer: prometheus.NewRegistry(), Operator: people{}, Now: time.Now, Token: bearer, Hosts: []string{"Metrics.internal", "svc1:8081", "0.0.0.0:8081"},
	})
}

// asked is one request to the operator's listener; empty fields have the values of `svc admin`.
type asked struct {
	method, path, host, auth, body string
	header                         map[string]string
}

func (a asked) request() *http.Request {
	if a.method == "" {
		a.method = "POST"
	}
	if a.path == "" {
		a.path = "/admin/v1/members.list"
	}
	r := httptest.NewRequest(a.method, a.path, strings.NewReader(a.body))
	r.Host = "127.0.0.1:8081"
	if a.host != "" {
		r.Host = a.host
	}
	if a.method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+bearer)
	if a.auth != "" {
		r.Header.Set("Authorization", a.auth)
	}
	for name, value := range a.header {
		r.Header.Set(name, value)
		if value == "" {
			r.Header.Del(name)
		}
	}
	local := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 8081}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
}

// TestOnlyTheOperatorIsObeyed checks the rules of the listener: it refuses web pages, host names that an attacker may
// have pointed to this machine, and callers without the bearer token.
func TestOnlyTheOperatorIsObeyed(t *testing.T) {
	listener := newListener()
	const command = `{"org":"acme"}`
	for name, c := range map[string]struct {
		asked
		status int
	}{
		"svc admin":                        {asked{body: command}, 200},
		"charset is a parameter":           {asked{body: command, header: map[string]string{"Content-Type": "application/json; charset=utf-8"}}, 200},
		"by the name localhost":            {asked{body: command, host: "LocalHost:9"}, 200},
		"by IPv6 loopback":                 {asked{body: command, host: "[::1]:8081"}, 200},
		"by the address that is asked":     {asked{body: command, host: "10.0.0.7:8081"}, 200},
		"by a name of the configuration":   {asked{body: command, host: "metrics.INTERNAL:8081"}, 200},
		"a configured name with its port":  {asked{body: command, host: "svc1"}, 200},
		"from a page of its own":           {asked{body: command, header: map[string]string{"Origin": "http://127.0.0.1:8081", "Sec-Fetch-Site": "same-origin"}}, 200},
		"no bearer":                        {asked{body: command, header: map[string]string{"Authorization": ""}}, 401},
		"another bearer":                   {asked{body: command, auth: "Bearer svc_opr_other"}, 401},
		"the bearer as a password":         {asked{body: command, auth: "Basic " + bearer}, 401},
		"under a stranger's name":          {asked{body: command, host: "evil.example"}, 403},
		"under a name below localhost":     {asked{body: command, host: "localhost.evil.example:8081"}, 403},
		"under another machine's address":  {asked{body: command, host: "10.0.0.8:8081"}, 403},
		"by the address of all":            {asked{body: command, host: "0.0.0.0:8081"}, 403},
		"from another site":                {asked{body: command, header: map[string]string{"Origin": "https://evil.example"}}, 403},
		"from a page without an origin":    {asked{body: command, header: map[string]string{"Origin": "null"}}, 403},
		"from another port":                {asked{body: command, header: map[string]string{"Origin": "http://127.0.0.1:3000"}}, 403},
		"cross-site without an origin":     {asked{body: command, header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403},
		"same-site is another origin":      {asked{body: command, header: map[string]string{"Sec-Fetch-Site": "same-site"}}, 403},
		"no-cors can send text only":       {asked{body: command, header: map[string]string{"Content-Type": "text/plain"}}, 415},
		"a form":                           {asked{body: command, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, 415},
		"no type":                          {asked{body: command, header: map[string]string{"Content-Type": ""}}, 415},
		"health needs no bearer":           {asked{method: "GET", path: "/healthz", auth: "-"}, 200},
		"readiness needs no bearer":        {asked{method: "GET", path: "/readyz", auth: "-"}, 200},
		"metrics need no bearer":           {asked{method: "GET", path: "/metrics", auth: "-"}, 200},
		"health by a foreign name":         {asked{method: "GET", path: "/healthz", host: "evil.example"}, 403},
		"readiness by a foreign name":      {asked{method: "GET", path: "/readyz", host: "evil.example"}, 403},
		"metrics by a foreign name":        {asked{method: "GET", path: "/metrics", host: "evil.example:8081"}, 403},
		"profiles need the bearer":         {asked{method: "GET", path: "/debug/pprof/cmdline", auth: "-"}, 401},
		"profiles":                         {asked{method: "GET", path: "/debug/pprof/cmdline"}, 200},
		"what is not there needs it, too":  {asked{method: "GET", path: "/admin/v1/nothing", auth: "-"}, 401},
		"a path that hides a public one":   {asked{method: "GET", path: "/debug/pprof/../../healthz", auth: "-"}, 401},
		"a body of nothing is no command":  {asked{body: ""}, 400},
		"a member that no command has":     {asked{body: `{"org":"acme","rolle":"owner"}`}, 400},
		"two commands in one body":         {asked{body: command + command}, 400},
		"HTTP/1.0 health checks name none": {asked{method: "GET", path: "/readyz", host: " ", auth: "-"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.request()
			r.Host = strings.TrimSpace(r.Host)
			w := httptest.NewRecorder()
			listener.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("%d %s, want %d", w.Code, w.Body, c.status)
			}
			if (w.Header().Get("Www-Authenticate") != "") != (c.status == 401) {
				t.Errorf("WWW-Authenticate: %q beside %d", w.Header().Get("Www-Authenticate"), w.Code)
			}
		})
	}
}

// TestAListenerWithoutATokenObeysNobody checks that the empty token permits nothing.
func TestAListenerWithoutATokenObeysNobody(t *testing.T) {
	listener := admin.New(admin.Config{Gatherer: prometheus.NewRegistry(), Operator: people{}, Now: time.Now})
	for _, auth := range []string{"Bearer ", "Bearer", "-"} {
		w := httptest.NewRecorder()
		listener.ServeHTTP(w, asked{body: `{}`, auth: auth}.request())
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%q: %d", auth, w.Code)
		}
	}
}
