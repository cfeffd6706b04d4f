"""The stack under the app on one machine: Postgres, Azurite and the processes that `make run` keeps alive."""
