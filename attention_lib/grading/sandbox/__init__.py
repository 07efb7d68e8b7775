"""The sandbox seen from outside: bubblewrap, and the library that a submission sees."""
