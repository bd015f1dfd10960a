-- The value of a property without what callers without people.pii.read may not see, by its key. Part of
-- properties.List.
if(match(pair.1, {personal:String}), '***', replaceRegexpAll(plain, {email:String}, '***'))
