-- The person of a row with ts and the spans of its visitor. Part of other queries.
spans[greatest(1, arrayCount(span -> span.1 <= toUnixTimestamp64Milli(ts), spans))].2
