"""What the adapters of servers share. Knows no server, and neither torch nor numpy."""
