"""Use a trained model: open it, translate, caption, generate, fill masks, and evaluate."""
