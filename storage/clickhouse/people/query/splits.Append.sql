-- Stores that members removed an id from a person. It may be repeated.
INSERT INTO splits (environment, visitor, at, since, late, devices)
