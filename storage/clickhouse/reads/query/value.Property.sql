-- The value of a custom property as text: a text as it is, anything else as JSON, nothing
-- where it is absent or null. Part of other queries.
multiIf(JSONType(properties, {property:String}) = 'String', JSONExtractString(properties, {property:String}),
    JSONType(properties, {property:String}) = 'Null', '', JSONExtractRaw(properties, {property:String}))
