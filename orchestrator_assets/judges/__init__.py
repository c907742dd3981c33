"""Language models that judge: one client for any OpenAI-compatible endpoint."""
