"""What the machine does meanwhile: what it explains of the noise, what moves it, what it costs."""
