package main

import (
	"fmt"
	"net/http"
	"testing"
)

// tokenRows lists the settings of an organization that decide what programs and the assistant may do.
func tokenRows(*testing.T) []changeable {
	return []changeable{organizationTokenRow(), assistantPolicyRow()}
}

// organizationTokenRow is a token of the organization. It reads, it writes if its scopes permit that, and a revoked
// token is refused.
func organizationTokenRow() changeable {
	const path = "/console/api/v1/orgs/acme/tokens"
	var id, token string
	var revoked []string
	writes := false
	mint := func(c *workshop, scopes string, mayWrite bool) {
		made := c.change("POST", path, c.session, fmt.Sprintf(`{"name":%q,"scopes":[%s]}`, c.next("ci"), scopes))
		id, token, writes = made["id"].(string), made["token"].(string), mayWrite
	}
	replace := func(scopes string, mayWrite bool) func(c *workshop) {
		return func(c *workshop) {
			c.change("DELETE", path+"/"+id, c.session, "")
			revoked = append(revoked, token)
			mint(c, scopes, mayWrite)
		}
	}
	return changeable{
		entity: "organization token",
		create: func(c *workshop) { mint(c, `"read"`, false) },
		changes: []change{
			{"replaced by one that writes", replace(`"read","write"`, true)},
			{"replaced by one that reads", replace(`"read"`, false)},
		},
		works: func(c *workshop) {
			if got := c.call("GET", appPath+"/goals", token, nil, nil); got.status != http.StatusOK {
				c.t.Errorf("reading: %d %s", got.status, got.body)
			}
			want := map[bool]int{true: http.StatusNotFound, false: http.StatusForbidden}[writes]
			if got := c.call("DELETE", appPath+"/goals/goal_0000000000000000000000000", token, nil, nil); got.status != want {
				c.t.Errorf("writing: %d %s, want %d", got.status, got.body, want)
			}
			for _, old := range revoked {
				if got := c.call("GET", appPath+"/goals", old, nil, nil); got.status != http.StatusUnauthorized {
					c.t.Errorf("a revoked token: %d %s", got.status, got.body)
				}
			}
		},
	}
}

// assistantPolicyRow is the policy of the organization for the assistant. It names the tools that are denied.
func assistantPolicyRow() changeable {
	const path = "/console/api/v1/orgs/acme/ai"
	denied := ""
	deny := func(tool string) change {
		return change{"without " + tool, func(c *workshop) {
			c.change("PUT", path+"/policy", c.session, fmt.Sprintf(`{"deniedTools":[%q]}`, tool))
			denied = tool
		}}
	}
	first := deny("goals_create")
	return changeable{
		entity:  "assistant policy",
		create:  first.do,
		changes: []change{deny("goals_delete"), first},
		works: func(c *workshop) {
			policy, _ := c.change("GET", path, c.session, "")["policy"].(map[string]any)
			if got := fmt.Sprint(policy["deniedTools"]); got != "["+denied+"]" {
				c.t.Errorf("the policy denies %s, want %s: %v", got, denied, policy)
			}
		},
	}
}
