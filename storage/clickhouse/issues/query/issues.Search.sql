-- Whether an issue's latest name, message or culprit holds a search word in any case. Where a
-- pattern of e-mail addresses is given, what it matches is taken out first. Part of issues.Rank.
positionCaseInsensitiveUTF8(
    if({email:String} = '',
        concat(argMaxMerge(latest).1, ': ', argMaxMerge(latest).2, '\n', argMaxMerge(latest).3),
        replaceRegexpAll(concat(argMaxMerge(latest).1, ': ', argMaxMerge(latest).2, '\n', argMaxMerge(latest).3), {email:String}, ' ')),
    {search:String}) > 0
