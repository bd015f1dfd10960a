-- Monitors that check one target every second, as the actors would have stored them.
INSERT INTO entities (owner, kind, id, version, deleted, payload)
SELECT
    concat('monitor/', {app:String}, '/', id), 'monitor', id, bitShiftLeft(toUInt64(1), 32) + 1, false,
    concat(
        '{"id":"', id, '","name":"Many ', toString(number), '","url":"', {target:String}, '/many/', toString(number),
        '","method":"GET","expectedStatus":200,"intervalSeconds":1,"timeoutMs":10000,"enabled":true,"bodyMatch":"', {match:String},
        '","confirmations":2,"createdAt":"2026-11-20T12:00:00Z","updatedAt":"2026-11-20T12:00:00Z"}'
    )
FROM (SELECT number, concat('mon_', leftPad(toString(number), 26, '0')) AS id FROM numbers({monitors:UInt64}))
