"""WHERE THINGS ARE: joints, camera intrinsics, hand-eye. Computes; opens no device."""
