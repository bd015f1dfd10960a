-- Recipients of a campaign by number, with the first number that has the same address. Key: environment, campaign,
-- number; of all recipients of the campaign, number and hash are read. Rows returned: at most end - first.
WITH page AS
(
    SELECT number, visitor, address, name, hash
    FROM campaign_recipients
    WHERE environment = {environment:UInt64} AND campaign = {campaign:String} AND number >= {first:UInt32} AND number < {end:UInt32}
        AND batch IN {batches:Array(UInt64)}
)
SELECT page.number, page.visitor, page.address, page.name, earliest.lowest
FROM page
INNER JOIN
(
    SELECT hash, min(number) AS lowest
    FROM campaign_recipients
    WHERE environment = {environment:UInt64} AND campaign = {campaign:String} AND number < {end:UInt32} AND batch IN {batches:Array(UInt64)}
        AND hash IN (SELECT hash FROM page)
    GROUP BY hash
) AS earliest ON earliest.hash = page.hash
ORDER BY page.number
