"""Live sources of traces, one file or folder each, named after what they observe with."""
