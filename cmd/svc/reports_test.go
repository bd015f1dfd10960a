package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/actors/live"
	"svc/domain"
	"svc/domain/report"
)

// mailServer accepts letters until the test ends, and passes them on.
func mailServer(t *testing.T) (address string, letters chan string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	letters = make(chan string, 100)
	take := func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		lines, heard := bufio.NewScanner(conn), ""
		fmt.Fprint(conn, "220 ready\r\n")
		for body := false; lines.Scan(); {
			heard += lines.Text() + "\n"
			switch word := lines.Text(); {
			case body && word == ".":
				body = false
				fmt.Fprint(conn, "250 taken\r\n")
				letters <- heard
			case body:
			case word == "DATA":
				body = true
				fmt.Fprint(conn, "354 go on\r\n")
			case word == "QUIT":
				fmt.Fprint(conn, "221 bye\r\n")
				return
			default:
				fmt.Fprint(conn, "250 fine\r\n")
			}
		}
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go take(conn)
		}
	}()
	return listener.Addr().String(), letters
}

// TestAReportReachesItsRecipients sends the events of a crowd, reads the letters about it, and unsubscribes by the link
// of one. The numbers of a regular report must match the overview.
func TestAReportReachesItsRecipients(t *testing.T) {
	address, letters := mailServer(t)
	s := startServer(t, t.TempDir(), map[string]string{"SVC_MAIL_SERVER": "smtp://" + address, "SVC_MAIL_FROM": "svc@acme.example"})
	now := time.Now()
	for i := range 3 {
		s.send(item(fmt.Sprint("now-", i), fmt.Sprint("visitor-", i), "/hello", now))
	}
	s.settled()
	made := object(t, s.call("POST", appPath+"/reports", s.boot.Token, []byte(`{"kind":"spike","recipients":["ada@acme.example","bob@acme.example"],"threshold":3}`), nil).body)
	links := map[string]string{}
	for range 2 {
		select {
		case letter := <-letters:
			to := regexp.MustCompile(`RCPT TO:<(\w+)@`).FindStringSubmatch(letter)
			link := regexp.MustCompile(`List-Unsubscribe: <([^>]+)>`).FindStringSubmatch(letter)
			text := regexp.MustCompile(`(?s)text/plain.*?base64\n\n(.*?)\n\n--part`).FindStringSubmatch(letter)
			if to == nil || link == nil || text == nil {
				t.Fatalf("the letter\n%s", letter)
			}
			links[to[1]] = link[1]
			body, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text[1], "\n", ""))
			if err != nil || !strings.Contains(string(body), "3 visitors were there") || !strings.Contains(string(body), "/hello") {
				t.Errorf("%v: %s", err, body)
			}
		case <-time.After(patience):
			t.Fatalf("the letters are not sent; the server logged\n%s", s.call("GET", appPath+"/reports", s.boot.Token, nil, nil).body)
		}
	}
	if len(links) != 2 {
		t.Fatalf("the links are %v", links)
	}
	visit := func(method, link string) answer {
		parsed, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		return s.call(method, parsed.RequestURI(), "", nil, nil)
	}
	recipients := func() any {
		rows := object(t, s.call("GET", appPath+"/reports", s.boot.Token, nil, nil).body)["data"].([]any)
		return rows[0].(map[string]any)["recipients"]
	}
	if got := visit("GET", links["ada"]); got.status != 200 || !strings.Contains(string(got.body), `<form method="post"`) || fmt.Sprint(recipients()) != "[ada@acme.example bob@acme.example]" {
		t.Errorf("opening the link: %d %s, %v", got.status, got.body, recipients())
	}
	for _, bad := range []string{strings.Replace(links["ada"], "code=", "code=x", 1), strings.Replace(links["ada"], "recipient=", "recipient=0", 1), strings.Replace(links["ada"], "/web/", "/other/", 1)} {
		if got := visit("POST", bad); got.status != 404 {
			t.Errorf("%s: %d", bad, got.status)
		}
	}
	if got := visit("POST", links["ada"]); got.status != 200 || fmt.Sprint(recipients()) != "[bob@acme.example]" {
		t.Errorf("leaving: %d, %v", got.status, recipients())
	}

	found, there := s.node.collectors.Application(domain.AppRef{Org: "acme", App: "web"})
	if !there {
		t.Fatal("the application is not known")
	}
	environment, _ := found.Environment("production")
	today := now.In(found.Location()).Format(time.DateOnly)
	r := report.Report{ID: made["id"].(string), App: found.Ref(), Spec: report.Spec{Kind: report.Weekly, Environment: "production", Number: environment.Number}}
	content, err := reportTraffic{s.node, &live.Presence{Actors: s.node.cluster}}.ReportContent(t.Context(), found, &r, report.Period{From: today, To: today})
	if err != nil {
		t.Fatal(err)
	}
	if content.Overview.Current.Visitors != 3 || len(content.Pages) != 1 || content.Pages[0] != (report.Value{Value: "/hello", Visitors: 3}) {
		t.Errorf("%+v", content)
	}
}
