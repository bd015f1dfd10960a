-- Records a migration.
INSERT INTO migrations (name) SELECT {name:String}
