"""The canonical model: what every recording becomes, whoever wrote it."""
