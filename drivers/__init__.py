"""THE ROBOT: arms, cameras, teleoperation, safety, rate, the virtual robot. No torch, no learning."""
