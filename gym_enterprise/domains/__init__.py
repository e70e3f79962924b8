"""The domains: each is data, documents, tools and tasks; adding one touches nothing else."""
