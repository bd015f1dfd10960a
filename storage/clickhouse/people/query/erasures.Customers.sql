-- Replaces the customer ids of an erasure in billing items that arrived before it. Each id becomes a distinct text, so
-- sums do not change. The text is that of person.ErasedCustomer. If repeated, the statement finds nothing. Key:
-- environment; a part without such an item stays unchanged.
ALTER TABLE billing
    UPDATE customer = concat('erased_', substring(lower(hex(SHA256(concat(toString({life:UInt64}), ':', customer)))), 1, 16))
    WHERE environment = {environment:UInt64} AND customer != '' AND cityHash64(customer) IN {ids:Array(UInt64)} AND received_at <= {at:DateTime64(3, 'UTC')}
