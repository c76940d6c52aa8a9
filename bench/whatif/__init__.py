"""How well predictions of changes agree with simulating the changed job."""
