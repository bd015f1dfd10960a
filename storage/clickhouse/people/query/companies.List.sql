-- A page of the companies of the persons of an environment, by name. Key: the key of persons.Folded. Rows read: one
-- per visitor; returned: at most limit.
SELECT name, count(), sum(seen), min(began), max(last)
FROM (SELECT $(name) AS name, seen, began, $(last) AS last FROM ($(folded)) WHERE $(where))
WHERE name != '' AND ({search:String} = '' OR positionCaseInsensitiveUTF8(name, {search:String}) > 0)
    AND ({first_page:Bool} OR name > {after:String})
GROUP BY name
ORDER BY name
LIMIT {limit:UInt32}
