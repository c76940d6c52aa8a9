"""Tables of the text export that add to what others hold."""
