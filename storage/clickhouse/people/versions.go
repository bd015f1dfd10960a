package people

import (
	"strings"

	"svc/domain/release"
	"svc/domain/segment"
)

// versionPattern is the expression of semver.org. It also accepts a leading v and absent minor and patch numbers. Its groups are
// the three numbers and the pre-release.
const versionPattern = `^[vV]?(0|[1-9][0-9]*)(?:[.](0|[1-9][0-9]*))?(?:[.](0|[1-9][0-9]*))?` +
	`(?:-((?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:[.](?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*))?` +
	`(?:[+][0-9a-zA-Z-]+(?:[.][0-9a-zA-Z-]+)*)?$`

// versionKeys are the keys of the versions among some texts, as release.VersionKey makes them.
const versionKeys = "arrayMap(v -> arrayMap(i -> if(match(i, '^[0-9]+$'), concat('0', leftPad(toString(length(i)), 6, '0'), i), concat('1', i)), " +
	"arrayConcat([v[1], if(v[2] = '', '0', v[2]), if(v[3] = '', '0', v[3])], if(v[4] = '', ['z'], arrayConcat([''], splitByChar('.', v[4]))))), " +
	"arrayFilter(v -> notEmpty(v), arrayMap(t -> extractGroups(t, $(pattern)), arrayFlatten(arrayMap(t -> " +
	"if(startsWith(t, '['), arrayMap(e -> if(startsWith(e, '\"'), JSONExtractString(e), e), JSONExtractArrayRaw(t)), [t]), [$(text)])))))"

// version compares a text that is a version, or a list with a version that compares so. No other text meets an operator of versions. A list with
// the version itself does not differ from it.
func (c *conditions) version(one *segment.Condition, text string) string {
	value, _ := one.Value.(string)
	version, _ := release.VersionKey(value)
	key := c.value("Array(String)", version)
	keys := strings.NewReplacer("$(pattern)", c.bind(versionPattern), "$(text)", text).Replace(versionKeys)
	switch one.Op {
	case segment.SemverEq:
		return "has(" + keys + ", " + key + ")"
	case segment.SemverNeq:
		return "arrayExists(k -> notEmpty(k) AND NOT has(k, " + key + "), [" + keys + "])"
	default:
		return "arrayExists(k -> k " + sign(one.Op) + " " + key + ", " + keys + ")"
	}
}
