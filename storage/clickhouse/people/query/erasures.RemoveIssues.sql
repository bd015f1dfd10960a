-- Removes issues. Key: environment, issue.
ALTER TABLE issues DELETE WHERE environment = {environment:UInt64} AND issue IN {issues:Array(UInt64)};
ALTER TABLE issue_releases DELETE WHERE environment = {environment:UInt64} AND issue IN {issues:Array(UInt64)}
