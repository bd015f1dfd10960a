-- Adds outcomes of recipients. Key: none; an insert.
INSERT INTO campaign_outcomes (environment, visitor, campaign, title, number, started, at, fate, detail, expires)
