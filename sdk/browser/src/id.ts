// named returns an id unless it is a placeholder that the service refuses, such as undefined, null or 0: a page that
// identifies its visitor by a placeholder would lose every later event.
export function named(id: string | null | undefined): string | undefined {
  const word = (id ?? "").replace(/^[\s"'`\\()[\]<>{}$#%:]+|[\s"'`\\()[\]<>{}$#%:]+$/g, "");
  // eslint-disable-next-line no-control-regex
  if (/^[\0-0:-@[-`{-\x7f]*$/.test(word)) return undefined;
  if (
    /^(undefined|null|none|nil|nan|true|false|-1|anonymous|guest|unknown|(distinct_?|anonymous_?|user_?)?id|email|user|not_authenticated|object \w+)$/i.test(
      word,
    )
  )
    return undefined;
  return id ?? undefined;
}
