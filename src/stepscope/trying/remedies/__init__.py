"""What can be tried from outside: a remedy per file, in folders by what they change. A new file is a new remedy."""
