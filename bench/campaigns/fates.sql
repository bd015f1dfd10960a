-- The outcome of each recipient of a campaign, and the address. Key: environment and campaign; all rows of the campaign
-- are read.
SELECT r.address AS address, o.fate AS fate
FROM campaign_outcomes AS o
LEFT JOIN (SELECT DISTINCT visitor, address FROM campaign_recipients WHERE campaign = {campaign:String}) AS r ON r.visitor = o.visitor
WHERE o.campaign = {campaign:String}
FORMAT JSONEachRow
