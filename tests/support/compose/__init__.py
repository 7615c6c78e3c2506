"""compose.yaml as a real Compose parser reads it, and its services as processes of this machine."""
