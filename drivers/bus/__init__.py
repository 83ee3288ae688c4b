"""LeRobot's motor buses with a transport of our own: it survives glitches, and stops where going on is a guess."""
