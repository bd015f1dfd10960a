-- In which minutes of the day items arrived, from 0 to 1439, by the last of each block. What was counted before has one: that of
-- the last item of the day.
ALTER TABLE usage
    ADD COLUMN IF NOT EXISTS minutes SimpleAggregateFunction(groupUniqArrayArray, Array(UInt16))
        DEFAULT [toUInt16(toHour(last) * 60 + toMinute(last))] CODEC(ZSTD(1));
