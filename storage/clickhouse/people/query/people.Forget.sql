-- Removes the rows of visitors that are no longer in profiles. Key: none; rows read: the numbers of all visitors.
DELETE FROM arrivals WHERE (environment, visitor) NOT IN (SELECT environment, visitor FROM profiles);
DELETE FROM entries WHERE (environment, visitor) NOT IN (SELECT environment, visitor FROM profiles);
DELETE FROM traits WHERE (environment, visitor) NOT IN (SELECT environment, visitor FROM profiles);
DELETE FROM activations WHERE (environment, visitor) NOT IN (SELECT environment, visitor FROM profiles);
DELETE FROM links WHERE (environment, known) NOT IN (SELECT environment, visitor FROM profiles UNION ALL SELECT environment, late FROM splits);
DELETE FROM splits WHERE (environment, visitor) NOT IN (SELECT environment, visitor FROM profiles)
