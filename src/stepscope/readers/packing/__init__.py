"""What recordings are packed in: compressed streams, zip archives, and text that is not UTF-8."""
