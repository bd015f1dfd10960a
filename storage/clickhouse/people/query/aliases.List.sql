-- The alias edges of an environment. Key: environment.
SELECT DISTINCT low, high
FROM aliases
WHERE environment = {environment:UInt64}
