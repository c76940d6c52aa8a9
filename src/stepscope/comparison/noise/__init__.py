"""How certain a difference of measurements is."""
