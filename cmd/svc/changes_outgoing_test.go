package main

import (
	"fmt"
	"testing"
)

// outgoingRows lists the messages that are mailed to people.
func outgoingRows(*testing.T) []changeable { return []changeable{reportRow(), campaignRow()} }

// reportRow is a weekly report. It is due for its recipients while it is enabled.
func reportRow() changeable {
	recipients, enabled := "ada@acme.example", true
	put := func(to string, on bool) change {
		return change{fmt.Sprintf("to %s, enabled %t", to, on), func(c *workshop) {
			c.manage("POST", "/reports", fmt.Sprintf(`{"kind":"weekly","recipients":[%q],"enabled":%t}`, to, on))
			recipients, enabled = to, on
		}}
	}
	return changeable{
		entity:  "report",
		create:  put("ada@acme.example", true).do,
		changes: []change{put("bob@acme.example", true), put("bob@acme.example", false), put("cyd@acme.example", true)},
		works: func(c *workshop) {
			eventually(c.t, "the report is due", func() error {
				rows := c.get(appPath + "/reports")["data"].([]any)
				if len(rows) != 1 {
					return fmt.Errorf("%d reports", len(rows))
				}
				row := rows[0].(map[string]any)
				if fmt.Sprint(row["recipients"]) != "["+recipients+"]" || row["enabled"] != enabled || (row["nextAt"] != nil) != enabled {
					return fmt.Errorf("it is %v, want %s, enabled %t", row, recipients, enabled)
				}
				return nil
			})
		},
	}
}

// campaignRow is a draft of a campaign. It can be edited further.
func campaignRow() changeable {
	id, subject := "", "Hello"
	path := func() string { return "/console" + campaignsPath + "/" + id }
	return changeable{
		entity: "campaign",
		create: func(c *workshop) {
			id = c.console("POST", "/campaigns", `{"name":"Spring","subject":"Hello","text":"Hello"}`)["campaign"].(map[string]any)["id"].(string)
		},
		changes: []change{
			{"subject", func(c *workshop) {
				c.change("PATCH", path(), c.session, `{"subject":"Hi"}`)
				subject = "Hi"
			}},
			{"name and rate", func(c *workshop) { c.change("PATCH", path(), c.session, `{"name":"Summer","ratePerSecond":50}`) }},
			{"budget", func(c *workshop) { c.change("PATCH", path(), c.session, `{"hourlyBudget":500}`) }},
		},
		works: func(c *workshop) {
			c.serial++
			c.change("PATCH", path(), c.session, fmt.Sprintf(`{"text":"Text %d"}`, c.serial))
			shown, _ := c.campaign(id)
			if shown["status"] != "draft" || shown["subject"] != subject || shown["text"] != fmt.Sprintf("Text %d", c.serial) {
				c.t.Errorf("the campaign is %v", shown)
			}
		},
	}
}
