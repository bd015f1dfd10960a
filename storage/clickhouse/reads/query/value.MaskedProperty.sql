-- The value of a custom property without what callers without people.pii.read may not see: all of it where
-- it is personal or has a personal member. Part of other queries.
if($(plain) != '' AND ({personal_key:Bool} OR match($(plain), concat('"', {personal:String}, '"[ ]*:'))), '***', replaceRegexpAll($(plain), {email:String}, '***'))
