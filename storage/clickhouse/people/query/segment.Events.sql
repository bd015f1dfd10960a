-- The condition that an event belongs to a person in a segment: its visitor belongs to such a person alone, or the
-- visitor is shared and belonged to such a person at the time of the event. Key: the key of persons.Folded, read at
-- most twice. Part of other queries.
(visitor IN ($(persons.Visitors))
    OR (visitor IN ($(persons.SharedVisitors))
        AND has(
            (
                SELECT groupArray(person)
                FROM ($(folded))
                WHERE $(where) AND person IN (SELECT arrayJoin(arrayMap(span -> span.2, spans)) FROM ($(persons.Shared)))
            ),
            arrayElement(
                arrayElement(tupleElement((SELECT (groupArray(visitor), groupArray(spans)) FROM ($(persons.Shared))) AS sharers, 2), indexOf(sharers.1, visitor)) AS held,
                greatest(1, arrayCount(span -> span.1 <= toUnixTimestamp64Milli(ts), held))
            ).2
        )
    ))
