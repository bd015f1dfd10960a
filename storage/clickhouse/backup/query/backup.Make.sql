-- Starts to copy a snapshot to a place, in the background. No table is read here.
BACKUP DATABASE $(snapshot) TO $(place) SETTINGS id = '$(id)' ASYNC
