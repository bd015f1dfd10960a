-- Removes the rows of visitors, except their ties, and all materialized profiles. A mutation rewrites the remaining
-- rows, so no removed row is on the disk once the engine drops the old parts. Key: environment; a part without such a
-- row stays unchanged.
TRUNCATE TABLE person_folds;
ALTER TABLE visits DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE names DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE newcomers DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE profiles DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE arrivals DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE entries DELETE WHERE environment = {environment:UInt64} AND (visitor IN {visitors:Array(UInt64)} OR entry.owner IN {visitors:Array(UInt64)});
ALTER TABLE traits DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE links DELETE WHERE environment = {environment:UInt64} AND (anonymous IN {visitors:Array(UInt64)} OR known IN {visitors:Array(UInt64)});
ALTER TABLE activations DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE flag_exposures DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE campaign_recipients DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE campaign_outcomes DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE issue_users DELETE WHERE environment = {environment:UInt64} AND user IN {visitors:Array(UInt64)};
ALTER TABLE occurrences DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE events DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
