"""What rules of several families draft alike."""
