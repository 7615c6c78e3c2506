"""What travels and what is stored: values without I/O."""
