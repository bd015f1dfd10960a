-- Whether the text of an event holds a search word in any case. Part of events.List.
(positionCaseInsensitiveUTF8(name, {search:String}) > 0 OR positionCaseInsensitiveUTF8(path, {search:String}) > 0
    OR positionCaseInsensitiveUTF8(url, {search:String}) > 0 OR positionCaseInsensitiveUTF8(distinct_id, {search:String}) > 0
    OR positionCaseInsensitiveUTF8(properties, {search:String}) > 0)
