-- The databases in which rows are tried. Key: none. Rows: one per trial.
SELECT name FROM system.databases WHERE startsWith(name, {prefix:String})
