-- Starts to create a database from a copy, in the background. No table is read here.
RESTORE DATABASE $(snapshot) AS $(database) FROM $(place) SETTINGS id = '$(id)' ASYNC
