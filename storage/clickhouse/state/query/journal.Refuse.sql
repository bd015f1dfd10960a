-- Records of the journal that cannot be moved to their tables, with the reason. The rows follow.
INSERT INTO refused_records (key, record, reason)
