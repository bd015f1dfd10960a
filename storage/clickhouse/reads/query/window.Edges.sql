-- Whether the time of an event lies in the partial slots at the two ends of a window.
-- Part of other queries; the bounds of ts let the primary key find the slots.
((ts >= {from:DateTime64(3, 'UTC')} AND ts < {head_to:DateTime64(3, 'UTC')})
    OR (ts >= {tail_from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}))
