"""A sweep as a page, as a workbook and as text."""
