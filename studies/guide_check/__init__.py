"""KIOXIA's check of its tuning guide, repeated: half, calculated and double of each setting."""
