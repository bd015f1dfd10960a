-- Sets when the rows of an environment expire, as if they had been stored with that many days (expiry in block.go).
-- Newcomers do not contain when a visitor was last seen, so their expiry is bounded from both sides. Key: environment.
ALTER TABLE events UPDATE expires = toDate(ts) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(ts) + {days:UInt32} + 1;
ALTER TABLE traffic UPDATE expires = toDate(slot) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(slot) + {days:UInt32} + 1;
ALTER TABLE visits UPDATE expires = toDate(slot) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(slot) + {days:UInt32} + 1;
ALTER TABLE names UPDATE expires = toDate(slot) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(slot) + {days:UInt32} + 1;
ALTER TABLE event_counts UPDATE expires = toDate(slot) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(slot) + {days:UInt32} + 1;
ALTER TABLE occurrences UPDATE expires = toDate(ts) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(ts) + {days:UInt32} + 1;
ALTER TABLE issues UPDATE expires = toDate(last_seen) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(last_seen) + {days:UInt32} + 1;
ALTER TABLE issue_users UPDATE expires = toDate(ts) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(ts) + {days:UInt32} + 1;
ALTER TABLE issue_releases UPDATE expires = toDate(last_seen) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(last_seen) + {days:UInt32} + 1;
ALTER TABLE metric_points UPDATE expires = toDate(ts) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(ts) + {days:UInt32} + 1;
ALTER TABLE metric_series UPDATE expires = toDate(last_seen) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(last_seen) + {days:UInt32} + 1;
ALTER TABLE metric_rollups UPDATE expires = toDate(slot) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(slot) + {days:UInt32} + 1;
ALTER TABLE metric_totals UPDATE expires = toDate(slot) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(slot) + {days:UInt32} + 1;
ALTER TABLE metric_hours UPDATE expires = toDate(slot) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(slot) + {days:UInt32} + 1;
ALTER TABLE newcomers UPDATE expires = least(greatest(expires, toDate(first_seen) + {days:UInt32} + 1), {today:Date} + {days:UInt32} + 1) WHERE environment = {environment:UInt64};
ALTER TABLE profiles UPDATE expires = toDate(last_seen) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(last_seen) + {days:UInt32} + 1;
ALTER TABLE flag_exposures UPDATE expires = toDate(first) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(first) + {days:UInt32} + 1;
ALTER TABLE campaign_recipients UPDATE expires = toDate(started) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(started) + {days:UInt32} + 1;
ALTER TABLE campaign_outcomes UPDATE expires = toDate(started) + {days:UInt32} + 1 WHERE environment = {environment:UInt64} AND expires != toDate(started) + {days:UInt32} + 1;
