package flag_test

import (
	"strings"
	"testing"

	"svc/domain/flag"
)

// TestMembersOfContextsHaveNoOrder evaluates flags on a field and on a property. The name of each is another name of
// the other. The members of the context come in every order.
func TestMembersOfContextsHaveNoOrder(t *testing.T) {
	t.Parallel()
	rule := func(field, value string) flag.Spec {
		return toggle(0, flag.Rule{ID: "r", Conditions: []flag.Condition{when(field, "eq", value)}, Variant: "on", RolloutPercent: percent(100)})
	}
	sets := map[string]*flag.Set{
		"all": setOf(t, map[string]flag.Spec{"a-tag": rule("tag", "vip"), "b-tags": rule("property.tags", "new"), "c-stage": rule("stage", "lead"), "d-cycle": rule("trait.lifecycleStage", "late")}),
		// If the flags come in another order, the names have other places.
		"reversed": setOf(t, map[string]flag.Spec{"d-tag": rule("tag", "vip"), "c-tags": rule("property.tags", "new"), "b-stage": rule("stage", "lead"), "a-cycle": rule("trait.lifecycleStage", "late")}),
		"tag":      setOf(t, map[string]flag.Spec{"a-tag": rule("tag", "vip")}),
	}
	for name, test := range map[string]struct {
		members []string
		want    map[string]bool
	}{
		"both":           {[]string{`"tag":"vip"`, `"tags":["new"]`}, map[string]bool{"tag": true, "tags": true}},
		"the other name": {[]string{`"tags":["vip"]`}, map[string]bool{"tag": true, "tags": false}},
		"the own name":   {[]string{`"tag":"x"`, `"tags":["vip"]`}, map[string]bool{"tag": false, "tags": false}},
		"null":           {[]string{`"tag":null`, `"tags":["vip"]`}, map[string]bool{"tag": false, "tags": false}},
		"stages":         {[]string{`"lifecycleStage":"late"`, `"stage":"lead"`, `"other":1`}, map[string]bool{"stage": true, "cycle": true}},
	} {
		for _, members := range orders(test.members) {
			context := "{" + strings.Join(members, ",") + "}"
			for of, set := range sets {
				for n := range set.Entries {
					key := set.Entries[n].Flag.Key
					want, asked := test.want[key[2:]]
					if got := strings.HasPrefix(evaluated(t, set, key, "u1", context, &flag.Person{}), "on"); asked && got != want {
						t.Errorf("%s, %s of %s, %s: %v", name, key, of, context, got)
					}
				}
			}
		}
	}
}

// orders returns all orders of words.
func orders(words []string) (all [][]string) {
	if len(words) < 2 {
		return [][]string{words}
	}
	for n := range words {
		rest := append(append([]string{}, words[:n]...), words[n+1:]...)
		for _, order := range orders(rest) {
			all = append(all, append([]string{words[n]}, order...))
		}
	}
	return all
}
