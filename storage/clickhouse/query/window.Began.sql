-- Whether the session of an event began in the partial slots at the two ends of a window.
-- Part of other queries; the index started of events finds such sessions.
((session_started >= {from:DateTime64(3, 'UTC')} AND session_started < {head_to:DateTime64(3, 'UTC')})
    OR (session_started >= {tail_from:DateTime64(3, 'UTC')} AND session_started < {to:DateTime64(3, 'UTC')}))
