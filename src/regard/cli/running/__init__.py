"""What each command does once its options are known; imported only then, because torch takes seconds to import."""
