"""What a deployment costs a month: computed from one file of prices, never by hand."""
