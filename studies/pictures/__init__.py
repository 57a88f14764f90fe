"""Pictures of reports and of the dashboard for docs/."""
