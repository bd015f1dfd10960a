-- Like events.Search, without the text that is hidden from callers without people.pii.read. Text that looks like an
-- e-mail address and the values of personal properties are removed first. Properties are not searched if they have
-- escaped characters, or a list or an object as a personal value. Part of events.List.
(positionCaseInsensitiveUTF8(replaceRegexpAll(toString(name), {email:String}, ' '), {search:String}) > 0
    OR positionCaseInsensitiveUTF8(replaceRegexpAll(toString(path), {email:String}, ' '), {search:String}) > 0
    OR positionCaseInsensitiveUTF8(replaceRegexpAll(url, {email:String}, ' '), {search:String}) > 0
    OR positionCaseInsensitiveUTF8(replaceRegexpAll(distinct_id, {email:String}, ' '), {search:String}) > 0
    OR (position(properties, '\\') = 0 AND NOT match(properties, concat('"', {personal:String}, '"[ ]*:[ ]*[{[]'))
        AND positionCaseInsensitiveUTF8(replaceRegexpAll(replaceRegexpAll(properties, concat('"', {personal:String}, '"[ ]*:[ ]*("[^"]*"|[0-9.eE+-]+)'), ' '), {email:String}, ' '), {search:String}) > 0))
