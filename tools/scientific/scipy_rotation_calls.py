"""How `scipy_table.py` calls the methods of rotations and rigid transformations."""

_ROTATION = """
from_quat: f(qs).as_matrix()
from_matrix: f(xp.eye(3)).as_matrix()
from_rotvec: f(rv).as_matrix()
from_euler: f('xyz', rv).as_matrix()
from_davenport: f(xp.eye(3), 'extrinsic', rv).as_matrix()
from_mrp: f(rv).as_matrix()
as_quat as_matrix as_rotvec as_mrp: f(Rotation.from_rotvec(rv))
as_euler: f(Rotation.from_rotvec(rv), 'zyx')
as_davenport: f(Rotation.from_rotvec(rv), xp.eye(3), 'extrinsic')
concatenate: f([Rotation.from_rotvec(rv), Rotation.from_rotvec(rv * 2)]).as_quat()
apply: f(Rotation.from_rotvec(rv), ws)
__mul__: f(Rotation.from_rotvec(rv), Rotation.from_rotvec(ws)).as_matrix()
__pow__: f(Rotation.from_rotvec(rv), 0.5).as_matrix()
inv: f(Rotation.from_rotvec(rv)).as_matrix()
magnitude: f(Rotation.from_rotvec(rv))
approx_equal: f(Rotation.from_rotvec(rv), Rotation.from_rotvec(rv))
mean: f(Rotation.from_rotvec(rv)).as_matrix()
reduce: f(Rotation.from_rotvec(rv), Rotation.from_rotvec(ws)).as_matrix()
__getitem__: f(Rotation.from_rotvec(rv), 0).as_matrix()
align_vectors: f(ws, rv)[0].as_matrix()
"""

_RIGID = """
from_matrix: f(xp.eye(4)).as_matrix()
from_rotation: f(Rotation.from_rotvec(rv)).as_matrix()
from_translation: f(ws).as_matrix()
from_components: f(ws, Rotation.from_rotvec(rv)).as_matrix()
from_exp_coords: f(ec).as_matrix()
from_dual_quat: f(RigidTransform.from_exp_coords(ec).as_dual_quat()).as_matrix()
concatenate: f([RigidTransform.from_exp_coords(ec), RigidTransform.from_exp_coords(ec)]).as_matrix()
mean: f(RigidTransform.from_exp_coords(ec)).as_matrix()
as_matrix as_exp_coords as_dual_quat: f(RigidTransform.from_exp_coords(ec))
as_components: f(RigidTransform.from_exp_coords(ec))[0]
__getitem__: f(RigidTransform.from_exp_coords(ec), 0).as_matrix()
__mul__: f(RigidTransform.from_exp_coords(ec), RigidTransform.from_translation(ws)).as_matrix()
__pow__: f(RigidTransform.from_exp_coords(ec), 0.5).as_matrix()
inv: f(RigidTransform.from_exp_coords(ec)).as_matrix()
apply: f(RigidTransform.from_exp_coords(ec), ws)
"""

_SLERP = """
__call__: f(Slerp(xp.asarray([0.0, 1.0]), Rotation.from_rotvec(rv)), xp.asarray([0.3])).as_matrix()
"""


def _parse_calls(home: str, text: str) -> dict[str, str]:
    rows = {}
    for line in text.strip().splitlines():
        names, _, expression = line.partition(": ")
        rows |= {f"spatial.transform.{home}.{name}": expression for name in names.split()}
    return rows


#: The expression for each method, by its name below `scipy`.
ROTATION_CALLS: dict[str, str] = {
    **_parse_calls("Rotation", _ROTATION),
    **_parse_calls("RigidTransform", _RIGID),
    **_parse_calls("Slerp", _SLERP),
}
