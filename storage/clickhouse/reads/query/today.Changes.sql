-- The changes of bounces in events of sessions that began on a local day. Part of today.Values and today.Marks.
reinterpret(groupArrayArrayIf([session, toUInt64(toUnixTimestamp64Milli(session_started)), toUInt64(bounce_delta + 128)],
    bounce_delta != 0 AND session_started >= {day_from:DateTime64(3, 'UTC')} AND session_started < {day_to:DateTime64(3, 'UTC')}), 'String')
