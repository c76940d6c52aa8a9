"""What ran on the devices, and how well it used them."""
