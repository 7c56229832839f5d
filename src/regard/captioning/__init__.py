"""Using a trained model on pictures: describing them, and showing where it looked at each word."""
