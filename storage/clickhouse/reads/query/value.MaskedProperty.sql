-- The value of a custom property without the parts that are hidden from callers without people.pii.read. The whole
-- value is hidden if it is personal or has a personal member. Part of other queries.
if($(plain) != '' AND ({personal_key:Bool} OR match($(plain), concat('"', {personal:String}, '"[ ]*:'))), '***', replaceRegexpAll($(plain), {email:String}, '***'))
