"""What people open in a browser: static files of this app, sent with headers that let nothing foreign in."""
