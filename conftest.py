"""What every test below this folder may use."""

pytest_plugins = ["pytester"]
