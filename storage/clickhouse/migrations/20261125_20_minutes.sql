-- The minutes of the day, from 0 to 1439, in which items arrived. Each block adds the minute of its last item. A row
-- from before this migration has one minute, the minute of the last item of the day.
ALTER TABLE usage
    ADD COLUMN IF NOT EXISTS minutes SimpleAggregateFunction(groupUniqArrayArray, Array(UInt16))
        DEFAULT [toUInt16(toHour(last) * 60 + toMinute(last))] CODEC(ZSTD(1));
