"""What people look at: plain data in, drawings out."""
