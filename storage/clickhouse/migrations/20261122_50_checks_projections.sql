-- What is derived of checks is part of their parts: projections are stored with the rows that they
-- sum up, so no crash leaves one without the other. Tables that materialized views fill cannot promise that
-- to a writer that does not repeat an interrupted insert. uptime and latest_checks stay as
-- names for reading, which an earlier version that runs at the same time uses as well.
ALTER TABLE checks
    ADD PROJECTION IF NOT EXISTS hours
    (
        SELECT app, monitor, toStartOfHour(at), count(), countIf(status != 'down')
        GROUP BY app, monitor, toStartOfHour(at)
    ),
    ADD PROJECTION IF NOT EXISTS latest
    (
        SELECT app, monitor, max(at), argMax(status, at), argMax(failures, at), argMax(error, at), argMax(total, at)
        GROUP BY app, monitor
    );

DROP VIEW IF EXISTS uptime_of_checks;
DROP VIEW IF EXISTS latest_checks_of_checks;

-- How many checks there were in each hour, and after how many the monitor was not down.
CREATE OR REPLACE VIEW uptime AS
SELECT app, monitor, toStartOfHour(at) AS hour, count() AS checks, countIf(status != 'down') AS up
FROM checks
GROUP BY app, monitor, hour;

-- The latest check of each monitor.
CREATE OR REPLACE VIEW latest_checks AS
SELECT
    app,
    monitor,
    max(checks.at) AS at,
    argMax(checks.status, checks.at) AS status,
    argMax(checks.failures, checks.at) AS failures,
    argMax(checks.error, checks.at) AS error,
    argMax(checks.total, checks.at) AS total
FROM checks
GROUP BY app, monitor;

-- Parts from before are read row by row until this is done, in the background.
ALTER TABLE checks MATERIALIZE PROJECTION hours;
ALTER TABLE checks MATERIALIZE PROJECTION latest;
