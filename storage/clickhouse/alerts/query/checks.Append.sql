-- Checks of monitors. The rows follow.
INSERT INTO checks (app, monitor, at, status, failures, code, error, dns, connect, tls, first_byte, total, certificate_ends)
