"""How jobs speak to Headgate: proposals go out, receipts come back."""
