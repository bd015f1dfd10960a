package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"testing"

	"svc/domain"
)

// script answers lookups one after another and records the targets of connections.
type script struct {
	answers [][]string
	asked   int
	dialled []string
}

func (s *script) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	answer := s.answers[min(s.asked, len(s.answers)-1)]
	s.asked++
	var addrs []netip.Addr
	for _, text := range answer {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

var errRefused = errors.New("refused")

// connect refuses every address but one.
func (s *script) connect(open string) func(context.Context, string, string) (net.Conn, error) {
	return func(_ context.Context, _, address string) (net.Conn, error) {
		s.dialled = append(s.dialled, address)
		if address != open {
			return nil, errRefused
		}
		ours, _ := net.Pipe()
		return ours, nil
	}
}

func TestDialerChecksWhatItConnectsTo(t *testing.T) {
	t.Parallel()
	const public, other = "93.184.215.14", "93.184.215.15"
	for _, test := range []struct {
		name    string
		host    string
		answers [][]string
		dialled []string
		err     error
	}{
		{name: "a public name", host: "a.example", answers: [][]string{{public}}, dialled: []string{public + ":80"}},
		{name: "the next address where one refuses", host: "a.example", answers: [][]string{{other, public}}, dialled: []string{other + ":80", public + ":80"}},
		{name: "a private name", host: "a.example", answers: [][]string{{"10.0.0.1"}}, err: ErrNotPublic},
		{name: "a name with both", host: "a.example", answers: [][]string{{public, "127.0.0.1"}}, err: ErrNotPublic},
		{name: "a mapped address", host: "a.example", answers: [][]string{{"::ffff:127.0.0.1"}}, err: ErrNotPublic},
		{name: "an address behind NAT64", host: "a.example", answers: [][]string{{"64:ff9b::a9fe:a9fe"}}, err: ErrNotPublic},
		{name: "an address with a zone", host: "a.example", answers: [][]string{{"fe80::1%eth0"}}, err: ErrNotPublic},
		{name: "metadata, by address", host: "169.254.169.254", err: ErrNotPublic},
		{name: "this host, by address", host: "::", err: ErrNotPublic},
		{name: "nothing", host: "a.example", answers: [][]string{{}}, err: &net.DNSError{Err: "no such host", Name: "a.example", IsNotFound: true}},
	} {
		s := &script{answers: test.answers}
		d := &Dialer{Resolver: s, Connect: s.connect(public + ":80")}
		conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(test.host, "80"))
		if fmt.Sprint(err) != fmt.Sprint(test.err) || (conn != nil) != (test.err == nil) || !reflect.DeepEqual(s.dialled, test.dialled) {
			t.Errorf("%s: %v, dialled %v, want %v, %v", test.name, err, s.dialled, test.err, test.dialled)
		}
	}
}

// TestAnswersThatChangeDoNotGetThrough resolves a name to a public address at the check and to a private one ever
// after. One lookup decides both, and the connection goes to the checked address.
func TestAnswersThatChangeDoNotGetThrough(t *testing.T) {
	t.Parallel()
	s := &script{answers: [][]string{{"93.184.215.14"}, {"127.0.0.1"}}}
	d := &Dialer{Resolver: s, Connect: s.connect("93.184.215.14:80")}
	if problem := d.CheckTarget(t.Context(), "http://rebind.example/"); problem != nil {
		t.Fatalf("the first answer is public: %v", problem)
	}
	if _, err := d.DialContext(t.Context(), "tcp", "rebind.example:80"); !errors.Is(err, ErrNotPublic) {
		t.Errorf("connecting after the change fails with %v", err)
	}
	s.asked, s.dialled = 0, nil
	if _, err := d.DialContext(t.Context(), "tcp", "rebind.example:80"); err != nil || s.asked != 1 || !reflect.DeepEqual(s.dialled, []string{"93.184.215.14:80"}) {
		t.Errorf("%v after %d look-ups, dialled %v; want the checked address after one", err, s.asked, s.dialled)
	}
	if problem := d.CheckTarget(t.Context(), "http://rebind.example/"); problem == nil || problem.Code != "url_not_public" {
		t.Errorf("a name of a private address is taken: %v", problem)
	}
}

func TestAllowedAddressesAreReached(t *testing.T) {
	t.Parallel()
	targets, err := domain.ParseAllow("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{answers: [][]string{{"127.0.0.1"}}}
	d := &Dialer{Targets: targets, Resolver: s, Connect: s.connect("127.0.0.1:80")}
	if _, err := d.DialContext(t.Context(), "tcp", "localhost:80"); err != nil {
		t.Error(err)
	}
	s.answers = [][]string{{"127.0.0.2"}}
	if _, err := d.DialContext(t.Context(), "tcp", "localhost:80"); !errors.Is(err, ErrNotPublic) {
		t.Errorf("an address beside the allowed one: %v", err)
	}
}
