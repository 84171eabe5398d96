"""The truth the ops are held against: float64 NumPy, as plain as it can be written, sharing nothing with the ops."""
