"""Which device is meant, its port, whether it may be opened, and what the USB bus itself has room for."""
