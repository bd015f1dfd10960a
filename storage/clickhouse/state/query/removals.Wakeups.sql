-- The wake-ups of actors of an application or an organization, see removals.Owned. Key: none.
SELECT concat(kind, '/', identity) AS owner, name
FROM wakeups FINAL
WHERE NOT deleted AND (identity IN {identities:Array(String)} OR arrayExists(p -> startsWith(identity, p), {prefixes:Array(String)}))
ORDER BY owner, name
