-- Whether an issue's latest name, message or culprit contains a search word, ignoring case. If a pattern of e-mail
-- addresses is given, text that matches it is removed first. Part of issues.Rank.
positionCaseInsensitiveUTF8(
    if({email:String} = '',
        concat(argMaxMerge(latest).1, ': ', argMaxMerge(latest).2, '\n', argMaxMerge(latest).3),
        replaceRegexpAll(concat(argMaxMerge(latest).1, ': ', argMaxMerge(latest).2, '\n', argMaxMerge(latest).3), {email:String}, ' ')),
    {search:String}) > 0
