"""What steps are made of, as sums that add up."""
