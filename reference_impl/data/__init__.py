"""What programs are trained on and held against: files of images, and the figures others published."""
