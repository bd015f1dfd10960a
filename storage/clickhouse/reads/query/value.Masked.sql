-- A value without the parts that svc.MaskEmails hides. Part of other queries.
replaceRegexpAll($(plain), {email:String}, '***')
