-- Adds deliveries in the state after an attempt. Key: none; an insert.
INSERT INTO deliveries (app, destination, created, id, at, environment, visitor, event_id, event, source_event, status, attempts, next, code, latency, test, error, request, response, payload, expires)
