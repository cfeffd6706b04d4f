"""What deploys the app: Bicep templates, the preparation of the database, what it all costs."""
