"""Reading a submission from an untrusted folder, and rebuilding its notebook on the released one."""
