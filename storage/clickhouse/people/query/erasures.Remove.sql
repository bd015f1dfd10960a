-- Removes the rows of visitors but those that tie them to others, and all that is kept of people for quick lists: those that a mutation leaves are written again, so nothing of the others is on
-- the disk once the engine drops what it replaced. Key: environment; a part without such a row stays.
TRUNCATE TABLE person_folds;
ALTER TABLE visits DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE names DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE newcomers DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE profiles DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE arrivals DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE traits DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE links DELETE WHERE environment = {environment:UInt64} AND (anonymous IN {visitors:Array(UInt64)} OR known IN {visitors:Array(UInt64)});
ALTER TABLE activations DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE flag_exposures DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE campaign_recipients DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE campaign_outcomes DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE issue_users DELETE WHERE environment = {environment:UInt64} AND user IN {visitors:Array(UInt64)};
ALTER TABLE occurrences DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)};
ALTER TABLE events DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
