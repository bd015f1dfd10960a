-- Reads all files of a table and compares them with the checksums of its parts. Returns one row for each part.
CHECK TABLE $(database).$(table) SETTINGS check_query_single_value_result = 0
