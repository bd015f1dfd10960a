-- Adds a page of an audience. Key: none; an insert.
INSERT INTO campaign_recipients (environment, campaign, number, batch, started, visitor, address, hash, name, expires)
