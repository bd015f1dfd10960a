-- Ties an id to the number of its later events. It may be repeated. Key: none. No rows are read.
INSERT INTO links (environment, anonymous, known, first)
SELECT {environment:UInt64}, {visitor:UInt64}, {late:UInt64}, fromUnixTimestamp64Milli({since:Int64}, 'UTC')
