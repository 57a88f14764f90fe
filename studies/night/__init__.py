"""A night from cron to chat: `make prove-night`."""
