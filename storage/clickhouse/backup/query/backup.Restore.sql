-- Begins to make a database of what was copied, in the background. No table is read here.
RESTORE DATABASE $(snapshot) AS $(database) FROM $(place) SETTINGS id = '$(id)' ASYNC
