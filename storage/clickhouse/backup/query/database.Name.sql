-- The database of the service. Key: none.
SELECT currentDatabase()
