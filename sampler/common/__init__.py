"""What every package needs: errors, documents, sizes in words."""
