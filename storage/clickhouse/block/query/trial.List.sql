-- The databases of trial inserts. Key: none. Rows: one per trial.
SELECT name FROM system.databases WHERE startsWith(name, {prefix:String})
