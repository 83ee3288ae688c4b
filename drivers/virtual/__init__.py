"""The virtual robot: one MuJoCo world, reached in lockstep or over the wire."""
