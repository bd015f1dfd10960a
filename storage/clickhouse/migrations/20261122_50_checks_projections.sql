-- The data that is derived from checks is stored in the parts of checks. A projection is stored with the rows that it
-- sums up, so no crash leaves one without the other. Tables of materialized views cannot guarantee this if the writer
-- does not repeat an interrupted insert. uptime and latest_checks remain as views for reads. An earlier version that
-- runs at the same time reads them as well.
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

-- The number of checks per hour, and the number of checks after which the monitor was not down.
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

-- Older parts are read row by row until this is done, in the background.
ALTER TABLE checks MATERIALIZE PROJECTION hours;
ALTER TABLE checks MATERIALIZE PROJECTION latest;
