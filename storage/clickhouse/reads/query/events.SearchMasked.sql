-- As events.Search, but blind to what callers without people.pii.read do not see: text that reads like an
-- e-mail address and the values of personal properties are taken out first, and properties with escaped
-- characters or with a list or an object as a personal value are not searched. Part of events.List.
(positionCaseInsensitiveUTF8(replaceRegexpAll(toString(name), {email:String}, ' '), {search:String}) > 0
    OR positionCaseInsensitiveUTF8(replaceRegexpAll(toString(path), {email:String}, ' '), {search:String}) > 0
    OR positionCaseInsensitiveUTF8(replaceRegexpAll(url, {email:String}, ' '), {search:String}) > 0
    OR positionCaseInsensitiveUTF8(replaceRegexpAll(distinct_id, {email:String}, ' '), {search:String}) > 0
    OR (position(properties, '\\') = 0 AND NOT match(properties, concat('"', {personal:String}, '"[ ]*:[ ]*[{[]'))
        AND positionCaseInsensitiveUTF8(replaceRegexpAll(replaceRegexpAll(properties, concat('"', {personal:String}, '"[ ]*:[ ]*("[^"]*"|[0-9.eE+-]+)'), ' '), {email:String}, ' '), {search:String}) > 0))
