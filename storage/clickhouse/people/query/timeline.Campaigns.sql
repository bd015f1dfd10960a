-- A page of the campaigns that were sent to a person, newest first. Key: environment, visitor of campaign_outcomes. Rows returned: at
-- most limit.
SELECT concat(campaign, '.', toString(number)) AS id, toUnixTimestamp64Milli(at) AS ms, campaign, title, fate
FROM campaign_outcomes
WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)} AND fate NOT IN ('opted_out', 'duplicate', 'erased')
    AND arrayExists((v, from_ms, to_ms) -> v = visitor AND ms >= from_ms AND ms < to_ms,
        {visitors:Array(UInt64)}, {from:Array(Int64)}, {until:Array(Int64)})
    AND (ms < {before_ms:Int64} OR ms = {before_ms:Int64} AND id < {before_id:String})
ORDER BY ms DESC, id DESC
LIMIT {limit:UInt32}
