package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// childVariable turns the test binary into a server, or into a rebuild of a store if it is "rebuild".
const childVariable = "SVC_TEST_SERVE"

// filesVariable limits the number of files that the server may open.
const filesVariable = "SVC_TEST_FILES"

// TestMain runs the tests, or a server that one of them kills, or a store.
func TestMain(m *testing.M) {
	if addr := os.Getenv(storeVariable); addr != "" {
		serveStore(addr)
	}
	if os.Getenv(childVariable) == "" {
		code := m.Run()
		empty.remove()
		os.Exit(code)
	}
	if files, err := strconv.ParseUint(os.Getenv(filesVariable), 10, 32); err == nil {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: files}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if file := os.Getenv(breakLogVariable); file != "" {
		go func() {
			if err := breakLogOnce(file); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(2)
			}
		}()
	}
	command := runServe
	if os.Getenv(childVariable) == "rebuild" {
		command = func(ctx context.Context, _ []string, stdout, stderr io.Writer) error {
			return runAdmin(ctx, []string{"rebuild"}, stdout, stderr)
		}
	}
	if err := command(context.Background(), nil, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// startChild starts a server as a separate process, which ends by kill -9.
func startChild(t *testing.T, dir string, env map[string]string) *server {
	t.Helper()
	s := &server{t: t, dir: dir, output: &lockedBuffer{}}
	logs := &lockedBuffer{}
	file := filepath.Join(dir, "bootstrap.json")
	command := exec.CommandContext(context.Background(), os.Args[0])
	command.Env = append(os.Environ(), childVariable+"=1", "SVC_HTTP_ADDR=127.0.0.1:0", "SVC_ADMIN_ADDR=127.0.0.1:0", "SVC_DATA_DIR="+dir, "SVC_RATE_LIMIT=0",
		"SVC_BOOTSTRAP_FILE="+file, "SVC_PARTITIONS=4", "SVC_FLUSH_INTERVAL=100ms")
	for name, value := range env {
		command.Env = append(command.Env, name+"="+value)
	}
	command.Stdout, command.Stderr = s.output, logs
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	s.stopped = func() {
		_ = command.Process.Kill() // fails if it was killed before
		_ = command.Wait()
		if t.Failed() {
			t.Log(logs.String())
		}
	}
	s.ended = func() (*os.ProcessState, string) {
		_ = command.Wait() // its state contains the result
		return command.ProcessState, logs.String()
	}
	t.Cleanup(s.stopped)
	eventually(t, "the process says that it serves", func() error {
		if s.operatorAddr() == "" {
			return fmt.Errorf("it printed %q; its log: %s", s.output.String(), logs.String())
		}
		return nil
	})
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &s.boot); err != nil {
		t.Fatal(err)
	}
	// The file comes from the first start; each start prints its own address.
	s.boot.URL = regexp.MustCompile(`svc serves (\S+) `).FindStringSubmatch(s.output.String())[1]
	return s
}

// scripted is a target whose paths are healthy until the script makes them fail.
type scripted struct {
	*httptest.Server
	secure *httptest.Server
	bad    atomic.Bool
	asked  atomic.Int64
}

// newScripted starts a target; roots is the file with the trusted certificate.
func newScripted(t *testing.T, roots string) *scripted {
	s := &scripted{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	s.secure = httptest.NewUnstartedServer(s)
	fresh, expired := certificate(t, time.Now().AddDate(1, 0, 0)), certificate(t, time.Now().Add(-time.Hour))
	s.secure.Config.ErrorLog = log.New(io.Discard, "", 0) // clients refuse expired certificates
	s.secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := fresh
		if s.bad.Load() {
			now = expired
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{now}}, nil
	}}
	s.secure.StartTLS()
	t.Cleanup(s.secure.Close)
	var trusted []byte
	for _, c := range []tls.Certificate{fresh, expired} {
		trusted = append(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})...)
	}
	if err := os.WriteFile(roots, trusted, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// certificate creates a certificate for this machine that ends at an instant.
func certificate(t *testing.T, ends time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(ends.Unix()), Subject: pkix.Name{CommonName: ends.String()}, NotBefore: time.Now().AddDate(0, -1, 0), NotAfter: ends,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// ServeHTTP answers as the path requests.
func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/flaps" && s.asked.Add(1)%3 == 0 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if s.bad.Load() {
		switch r.URL.Path {
		case "/goes-down":
			w.WriteHeader(http.StatusBadGateway)
			return
		case "/slows":
			<-r.Context().Done()
			return
		case "/redirects":
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
			return
		case "/changes":
			fmt.Fprint(w, "nothing is fine")
			return
		}
	}
	fmt.Fprint(w, "all is well")
}

// verdict is the final state of a monitor, and the notices about it.
type verdict struct {
	Status, Error string
	Incidents     int
	Told          string
}

// verdicts returns the table of the monitors by name. A notice that was being sent when the server was killed is sent
// again, with the same id.
func (s *server) verdicts(hook *hook) map[string]verdict {
	s.t.Helper()
	incidents, told := map[string]int{}, map[string]string{}
	for _, row := range s.get(appPath + "/incidents?status=all")["data"].([]any) {
		incidents[row.(map[string]any)["ruleName"].(string)]++
	}
	hook.mu.Lock()
	for i, body := range hook.bodies {
		if slices.Contains(hook.ids[:i], hook.ids[i]) {
			continue
		}
		name := body["incident"].(map[string]any)["ruleName"].(string)
		told[name] += fmt.Sprint(body["event"])
	}
	hook.mu.Unlock()
	out := map[string]verdict{}
	for _, row := range s.get(appPath + "/monitors")["data"].([]any) {
		monitor := row.(map[string]any)
		name, text := monitor["name"].(string), ""
		if monitor["lastError"] != nil {
			text = monitor["lastError"].(string)
		}
		out[name] = verdict{fmt.Sprint(monitor["lastStatus"]), text, incidents[name], told[name]}
	}
	return out
}

// become waits until the table is as wanted. For flapping monitors only the incidents count.
func (s *server) become(hook *hook, what string, want map[string]verdict) {
	s.t.Helper()
	eventually(s.t, what, func() error {
		got := s.verdicts(hook)
		flapping := got["/flaps"]
		got["/flaps"] = verdict{Incidents: flapping.Incidents, Told: flapping.Told}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("the table is\n%v, want\n%v", got, want)
		}
		return nil
	})
}

// failures returns the least number of consecutive failures of the monitors that are down.
func (s *server) failures() float64 {
	least := -1.0
	for _, row := range s.get(appPath + "/monitors")["data"].([]any) {
		monitor := row.(map[string]any)
		if n := monitor["consecutiveFailures"].(float64); monitor["lastStatus"] == "down" && (least < 0 || n < least) {
			least = n
		}
	}
	return least
}

// scriptedMonitors creates the monitors of a target, each with a rule that notifies the hook. It returns their expected
// tables for a healthy and for a failing target.
func (s *server) scriptedMonitors(target *scripted, hook *hook) (well, bad map[string]verdict) {
	s.t.Helper()
	channel := s.hooked(hook)
	well, bad = map[string]verdict{"/flaps": {}}, map[string]verdict{"/flaps": {}}
	for _, m := range []struct{ name, url, more, problem string }{
		{"/stays", target.URL, "", ""},
		{"/flaps", target.URL, "", ""},
		{"/goes-down", target.URL, "", "The status was 502, not 200."},
		{"/slows", target.URL, `,"timeoutMs":1000`, "There was no whole answer within 1000 ms."},
		{"/changes", target.URL, `,"bodyMatch":"well"`, "The body does not contain the text of bodyMatch."},
		{"/redirects", target.URL, "", "The address, or one that it redirects to, is not public."},
		{"/expires", target.secure.URL, "", "The certificate has expired or does not hold yet."},
	} {
		monitor := s.post(appPath+"/monitors", `{"name":"`+m.name+`","url":"`+m.url+m.name+`","intervalSeconds":1,"confirmations":2`+m.more+`}`)
		s.post(appPath+"/alerts", `{"name":"`+m.name+`","kind":"uptime","threshold":2,"comparator":"gte","condition":{"monitorId":"`+monitor["id"].(string)+`"},"channelIds":["`+channel+`"]}`)
		if m.name == "/flaps" {
			continue
		}
		well[m.name], bad[m.name] = verdict{Status: "up"}, verdict{Status: "up"}
		if m.problem != "" {
			bad[m.name] = verdict{"down", m.problem, 1, "open"}
		}
	}
	return well, bad
}

// liveThrough lets a target fail and recover. It disturbs the service while the target is healthy, begins to fail,
// fails and recovers. The notices and records equal those without disturbance. disturb returns the server to continue
// with.
func liveThrough(t *testing.T, s *server, target *scripted, disturb func(times int) *server) {
	t.Helper()
	hook := newHook(t)
	well, bad := s.scriptedMonitors(target, hook)
	s.become(hook, "all are well", well)
	s = disturb(0)
	target.bad.Store(true)
	eventually(t, "something fails", func() error {
		if s.failures() < 0 && len(hook.titles()) == 0 {
			return fmt.Errorf("nothing does")
		}
		return nil
	})
	s = disturb(1)
	s.become(hook, "those that fail are down", bad)
	s = disturb(2)
	before := s.failures()
	eventually(t, "failures go on counting", func() error {
		if now := s.failures(); now < before+2 {
			return fmt.Errorf("%v in a row, %v at the disturbance", now, before)
		}
		return nil
	})
	s.become(hook, "nothing is told twice", bad)
	target.bad.Store(false)
	recovered := map[string]verdict{"/flaps": {}}
	for name, v := range bad {
		if name != "/flaps" {
			recovered[name] = verdict{"up", "", v.Incidents, v.Told}
		}
	}
	s = disturb(3)
	s.become(hook, "all are up again", recovered)
	if len(hook.bad) > 0 {
		t.Errorf("badly signed: %v", hook.bad)
	}
}

// TestAScriptedTargetAcrossKills kills the one server and starts it again.
func TestAScriptedTargetAcrossKills(t *testing.T) {
	dir, roots := t.TempDir(), filepath.Join(t.TempDir(), "roots.pem")
	target, env := newScripted(t, roots), watched()
	env["SSL_CERT_FILE"] = roots
	s := startChild(t, dir, env)
	liveThrough(t, s, target, func(int) *server {
		s.stopped()
		s = startChild(t, dir, env)
		return s
	})
}

// TestAScriptedTargetAcrossLostNodes kills one node of three when the target begins to fail, and another one while it
// fails: the last one continues with their partitions.
func TestAScriptedTargetAcrossLostNodes(t *testing.T) {
	t.Parallel() // it waits for a minute
	roots := filepath.Join(t.TempDir(), "roots.pem")
	target, env := newScripted(t, roots), watched()
	env["SSL_CERT_FILE"] = roots
	nodes := startNodes(t, env)
	liveThrough(t, nodes[0], target, func(times int) *server {
		if times == 1 || times == 2 {
			nodes[times].stopped()
			for _, resource := range []string{"/monitors", "/incidents", "/alerts"} {
				nodes[0].again(t, "GET", appPath+resource, "", 200)
			}
		}
		return nodes[0]
	})
}
