-- As events.Search, but blind to what svc.MaskEmails hides: text that reads like an e-mail
-- address is taken out first, and properties with escaped characters, which could spell
-- one, are not searched. Part of events.List.
(positionCaseInsensitiveUTF8(replaceRegexpAll(toString(name), {email:String}, ' '), {search:String}) > 0
    OR positionCaseInsensitiveUTF8(replaceRegexpAll(toString(path), {email:String}, ' '), {search:String}) > 0
    OR positionCaseInsensitiveUTF8(replaceRegexpAll(url, {email:String}, ' '), {search:String}) > 0
    OR positionCaseInsensitiveUTF8(replaceRegexpAll(distinct_id, {email:String}, ' '), {search:String}) > 0
    OR (position(properties, '\\u') = 0
        AND positionCaseInsensitiveUTF8(replaceRegexpAll(properties, {email:String}, ' '), {search:String}) > 0))
