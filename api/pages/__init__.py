"""The dashboard: pages for a person in front of a browser, over what ``/v1`` serves to all."""
