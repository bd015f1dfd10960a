package outbound

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/goal"
	"svc/domain/report"
)

// reportMails are a letter of each kind, with names that attackers chose.
func reportMails(t *testing.T) map[string]*report.Mail {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	deleted := noon()
	mail := func(kind report.Kind, letter report.Letter) *report.Mail {
		letter.ID, letter.To = "rpl_1", "ada@acme.example"
		return &report.Mail{
			Letter: letter, Kind: kind, App: domain.AppRef{Org: "acme", App: "web"}, AppName: "Acme\r\nBcc: all@acme.example <Web>", Environment: "production", Location: berlin,
			Unsubscribe: "https://svc.example/unsubscribe/acme/web/rpt_1?recipient=0f&code=ab", Threshold: 1000,
		}
	}
	content := report.Content{
		Overview: analytics.Overview{
			Current:  analytics.Headline{Visitors: 12_345, Pageviews: 1_234_567, Sessions: 15_000, BounceRate: 0.434, AvgDurationMs: 83_499, Conversions: 12},
			Previous: analytics.Headline{Visitors: 10_000, Pageviews: 1_300_000, Sessions: 15_000, BounceRate: 0.40, AvgDurationMs: 80_000},
		},
		Pages:   []report.Value{{Value: "/", Visitors: 9_000}, {Value: "/<script>alert(1)</script>", Visitors: 12}},
		Sources: []report.Value{{Value: "Google", Visitors: 4_000}, {Visitors: 1}},
		Goals:   []goal.Count{{Goal: goal.Goal{ID: "g1", Name: "Sign-up"}, Conversions: 12, Visitors: 11}, {Goal: goal.Goal{ID: "g2", Name: "gone", DeletedAt: &deleted}, Conversions: 1}},
	}
	weekly := mail(report.Weekly, report.Letter{Period: report.Period{From: "2026-11-16", To: "2026-11-22"}})
	weekly.Content = content
	monthly := mail(report.Monthly, report.Letter{Period: report.Period{From: "2026-10-01", To: "2026-10-31"}})
	spike := mail(report.ReportSpike, report.Letter{Spike: &report.Spike{
		At: noon(), Visitors: 1_250, Sources: []report.Value{{Value: "Hacker News", Visitors: 1_100}}, Pages: []report.Value{{Value: "/blog", Visitors: 1_200}},
	}})
	return map[string]*report.Mail{"weekly": weekly, "monthly-empty": monthly, "spike": spike}
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
