-- The stored entities of actors of an application or an organization: the identity of the actor is the address, or
-- begins with it or with the number of an environment. Versions that a later one deletes are included until they are
-- removed. Key: none; it runs a few times for each deletion.
SELECT owner, kind, id
FROM entities
WHERE NOT deleted AND substring(owner, 1, position(owner, '/') - 1) NOT IN ('application', 'organization', 'ledger')
    AND (substring(owner, position(owner, '/') + 1) IN {identities:Array(String)} OR arrayExists(p -> startsWith(substring(owner, position(owner, '/') + 1), p), {prefixes:Array(String)}))
ORDER BY owner, kind, id
LIMIT 1 BY owner, kind, id
