-- The value of a property, by its key, without the parts that are hidden from callers without people.pii.read. Part of
-- properties.List.
if(match(pair.1, {personal:String}), '***', replaceRegexpAll(plain, {email:String}, '***'))
