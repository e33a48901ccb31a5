"""Coverage-guided fuzzing of everything that takes words from outside: `make fuzz` (development only)."""
