"""Where baselines and history are kept: a folder of files, a SQLite file, or a PostgreSQL database."""
