-- The events that count for people. Events of bots count only if they set identities. Part of other queries.
(NOT is_bot OR name IN ('$identify', '$alias'))
