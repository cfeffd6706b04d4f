"""The queues: the messages on them, the storage account they are in, the outbox before them, the poison behind them."""
