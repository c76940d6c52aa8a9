"""Two jobs of several ranks side by side: ranks, stages and groups matched, the worst and the typical rank of each."""
