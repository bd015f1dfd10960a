-- Records of the journal. The rows follow.
INSERT INTO journal (key, record)
