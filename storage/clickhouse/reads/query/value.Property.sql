-- The value of a custom property as text: a string as it is, anything else as JSON, and empty if it is absent or null.
-- Part of other queries.
multiIf(JSONType(properties, {property:String}) = 'String', JSONExtractString(properties, {property:String}),
    JSONType(properties, {property:String}) = 'Null', '', JSONExtractRaw(properties, {property:String}))
