-- A value without what svc.MaskEmails hides. Part of other queries.
replaceRegexpAll($(plain), {email:String}, '***')
