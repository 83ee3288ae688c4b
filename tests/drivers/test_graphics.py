"""Drawing: what a machine that cannot draw is told, and that nothing is printed at the end of a run that can."""

import os
import subprocess
import sys

DRAW = (
    "from svm_robot.drivers.virtual.world import World; w = World(); w.advance(0.1); print('moved'); w.render('front')"
)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_world_that_was_never_closed_ends_in_silence() -> None:
    done = run(DRAW + "; w.film((48, 64)); other = World('two'); other.render('wrist')", MUJOCO_GL="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "moved\n", "")


def test_without_pictures_the_physics_still_works() -> None:
    done = run(DRAW, MUJOCO_GL="disable")
    assert done.stdout == "moved\n"
    assert "DeviceError: pictures are switched off by MUJOCO_GL=disable" in done.stderr


def test_a_machine_that_cannot_draw_is_told_what_to_install() -> None:
    for broken in ({"MUJOCO_GL": "egl", "MUJOCO_EGL_DEVICE_ID": "77"}, {"MUJOCO_GL": "bogus"}):
        done = run(DRAW, **broken)
        assert done.returncode != 0
        last = done.stderr.strip().splitlines()[-1]
        assert "DeviceError" in last
        assert "libegl1" in last
        assert f"MUJOCO_GL='{broken['MUJOCO_GL']}'" in last


def test_without_mujoco_the_extra_is_named() -> None:
    done = run("import sys; sys.modules['mujoco'] = None; import svm_robot.drivers.virtual.world")
    assert "DeviceError: the virtual robot needs MuJoCo: pip install 'svm-robot[virtual]'" in done.stderr


def test_the_world_loads_neither_torch_nor_lerobot() -> None:
    done = run(
        "import sys; import svm_robot.drivers.virtual.lockstep, svm_robot.drivers.virtual.expert; "
        "print([name for name in ('torch', 'lerobot', 'cv2', 'svm_robot.rollout') if name in sys.modules])"
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
