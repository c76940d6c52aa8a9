"""What users see: a report is built once, and every output is made from it alone."""
