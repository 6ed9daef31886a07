"""Functions of images: windows that slide over them, and values between their pixels."""
