-- One block of billing items. The rows follow in the Native format, with these columns in this order.
INSERT INTO billing
(
    environment, kind, subject, id, ts, received_at, seq, customer, plan, status, currency, cents, change_ms, change_cents,
    trial_end, ended, target, rate, rank, block
)
