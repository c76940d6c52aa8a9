"""The guide: from a symptom to a command, a finding and a setting. One tree for the command and the documentation."""
