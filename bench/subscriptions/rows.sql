SELECT DISTINCT
    kind, subject, id, toUnixTimestamp64Milli(ts) AS ts, customer, plan, status, currency, cents, change_ms, change_cents, trial_end, ended, target, rate
FROM billing
WHERE environment IN (SELECT environment FROM billing WHERE kind = 'rate') -- only the history has rates
FORMAT JSONEachRow
SETTINGS output_format_json_quote_64bit_integers = 0
