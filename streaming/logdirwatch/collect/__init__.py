"""The collector: queries every broker separately and writes the answers as records, errors included."""
