"""The worker process: it imports the app, indexes its functions and runs them for the host."""
