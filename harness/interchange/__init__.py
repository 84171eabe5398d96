"""Files of other tools, read and written so that neither side has to change."""
