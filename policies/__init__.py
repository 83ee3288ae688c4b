"""WHAT ACTS: the flow policy, noise steering, LeRobot policies as bases."""
