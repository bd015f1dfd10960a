-- Whether the text of an event contains a search word, ignoring case. Part of events.List.
(positionCaseInsensitiveUTF8(name, {search:String}) > 0 OR positionCaseInsensitiveUTF8(path, {search:String}) > 0
    OR positionCaseInsensitiveUTF8(url, {search:String}) > 0 OR positionCaseInsensitiveUTF8(distinct_id, {search:String}) > 0
    OR positionCaseInsensitiveUTF8(properties, {search:String}) > 0)
