-- The sessions that began in a window and bounced, ascending, in eight little-endian bytes
-- each. Key: the index started. Rows read: the events of the sessions that began in the
-- window; returned: one.
SELECT reinterpret(arraySort(groupArray(session)), 'String')
FROM
(
    $(breakdown.Bounced)
)
