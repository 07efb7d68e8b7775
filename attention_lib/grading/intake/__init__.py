"""Read a submission from an untrusted folder, and rebuild its notebook from the released one."""
