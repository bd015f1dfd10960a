package outbound

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc"
)

// reportMails are a letter of each kind, with names that attackers chose.
func reportMails(t *testing.T) map[string]*svc.ReportMail {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	deleted := noon()
	mail := func(kind svc.ReportKind, letter svc.ReportLetter) *svc.ReportMail {
		letter.ID, letter.To = "rpl_1", "ada@acme.example"
		return &svc.ReportMail{
			Letter: letter, Kind: kind, App: svc.AppRef{Org: "acme", App: "web"}, AppName: "Acme\r\nBcc: all@acme.example <Web>", Environment: "production", Location: berlin,
			Unsubscribe: "https://svc.example/unsubscribe/acme/web/rpt_1?recipient=0f&code=ab", Threshold: 1000,
		}
	}
	content := svc.ReportContent{
		Overview: svc.Overview{
			Current:  svc.Headline{Visitors: 12_345, Pageviews: 1_234_567, Sessions: 15_000, BounceRate: 0.434, AvgDurationMs: 83_499, Conversions: 12},
			Previous: svc.Headline{Visitors: 10_000, Pageviews: 1_300_000, Sessions: 15_000, BounceRate: 0.40, AvgDurationMs: 80_000},
		},
		Pages:   []svc.ReportValue{{Value: "/", Visitors: 9_000}, {Value: "/<script>alert(1)</script>", Visitors: 12}},
		Sources: []svc.ReportValue{{Value: "Google", Visitors: 4_000}, {Visitors: 1}},
		Goals:   []svc.GoalCount{{Goal: svc.Goal{ID: "g1", Name: "Sign-up"}, Conversions: 12, Visitors: 11}, {Goal: svc.Goal{ID: "g2", Name: "gone", DeletedAt: &deleted}, Conversions: 1}},
	}
	weekly := mail(svc.ReportWeekly, svc.ReportLetter{Period: svc.ReportPeriod{From: "2026-11-16", To: "2026-11-22"}})
	weekly.Content = content
	monthly := mail(svc.ReportMonthly, svc.ReportLetter{Period: svc.ReportPeriod{From: "2026-10-01", To: "2026-10-31"}})
	spike := mail(svc.ReportSpike, svc.ReportLetter{Spike: &svc.Spike{
		At: noon(), Visitors: 1_250, Sources: []svc.ReportValue{{Value: "Hacker News", Visitors: 1_100}}, Pages: []svc.ReportValue{{Value: "/blog", Visitors: 1_200}},
	}})
	return map[string]*svc.ReportMail{"weekly": weekly, "monthly-empty": monthly, "spike": spike}
}

// TestWhatReportsSay compares the letters of reports in both forms.
func TestWhatReportsSay(t *testing.T) {
	reports, err := NewReports(Mail{From: "svc@acme.example", Now: noon}, "https://svc.example")
	if err != nil {
		t.Fatal(err)
	}
	for name, mail := range reportMails(t) {
		l, err := reports.letter(mail)
		if err != nil {
			t.Fatal(err)
		}
		message := string(reports.mail.message(l))
		if strings.Contains(message, "\nBcc") || !strings.Contains(message, "\r\nList-Unsubscribe: <"+mail.Unsubscribe+">\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n") {
			t.Errorf("%s: %s", name, message)
		}
		parts := regexp.MustCompile(`(?s)Content-Type: (text/\w+); charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n(.*?)\r\n\r\n--part-rpl_1`).FindAllStringSubmatch(message, -1)
		if len(parts) != 2 {
			t.Fatalf("%s has %d parts:\n%s", name, len(parts), message)
		}
		for _, part := range parts {
			text, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(part[2], "\r\n", ""))
			if err != nil {
				t.Fatal(err)
			}
			head := "Subject: " + strings.Join(strings.Fields(l.subject), " ") + "\n\n"
			path := filepath.Join("testdata", "report-"+name+map[string]string{"text/plain": ".txt", "text/html": ".html"}[part[1]]+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(head+string(text)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || string(want) != head+string(text) {
				t.Errorf("%s: %v, is now\n%s", path, err, head+string(text))
			}
		}
	}
}
