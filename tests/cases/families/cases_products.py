"""The rows of the operation table that multiply tensors over chosen axes.

What a row says: `cases.py`.
"""

from typing import Any

import numpy as np

from case_model import A, Call, call, op

MAT, SQUARE, CUBE = A(2, 3), A(3, 3), A(2, 3, 4)


def terms(text: str, *shapes: tuple[int, ...]) -> Call:
    """A summation of arrays of these shapes."""
    return call(text, *(A(*shape) for shape in shapes))


def einsum(subscripts: str, *operands: Any) -> Any:
    """NumPy's, where a result without `...` is summed over these axes."""
    if "->" not in subscripts or "..." in subscripts.partition("->")[2]:
        return np.einsum(subscripts, *operands)
    whole = np.einsum(subscripts.replace("->", "->..."), *operands)
    named = subscripts.partition("->")[2].strip()
    others = "XYZ"[: np.ndim(whole) - len(named)]
    return np.einsum(f"{others}{named}->{named}", whole)


# fmt: off
PRODUCTS = (
    op("dot", np.dot, call(MAT, A(3, 4)), call(A(3), A(3)), call(MAT, A(3)), call(CUBE, A(4)),
       call(MAT, A(4, 3, 2)), call(A(2, 2, 3), A(2, 3, 2)), call(A(), MAT), call(A(3), A()),
       call(A(2, 0), A(0, 3)), large=(call(A(130, 257), A(257, 120)),)),
    op("vdot", np.vdot, call(MAT, MAT), call(A(3), A(3)), call(MAT, A(6)), call(A(), A()),
       call(A(0), A(0))),
    op("inner", np.inner, call(MAT, A(4, 3)), call(A(3), A(3)), call(MAT, A(3)),
       call(CUBE, A(2, 4)), call(A(), MAT), call(A(2, 0), A(3, 0))),
    op("outer", np.outer, call(A(3), A(4)), call(MAT, A(2)), call(A(), A(3)), call(A(0), A(2)), grown=400),
    op("tensordot", np.tensordot, call(CUBE, A(3, 4, 2)), call(A(2), A(3), 0),
       call(MAT, A(3, 2), axes=1), call(CUBE, A(3, 2, 2), ([0, 1], [1, 0])),
       call(MAT, A(4, 2), axes=(0, 1)), call(MAT, A(3, 2), ([-1], [0])),
       call(CUBE, A(3, 2, 4), axes=([1, 2], [0, 2]))),
    op("kron", np.kron, call(MAT, A(4, 2)), call(A(2), A(3)), call(A(2), MAT),
       call(A(2, 2, 2), A(3, 2)), call(A(), A(2)), call(MAT, A()), call(A(0), A(2)), grown=400),
    op("cross", np.cross, call(A(3), A(3)), call(MAT, MAT), call(MAT, A(3)),
       call(A(3, 2), A(3, 2), axis=0), call(A(3, 2), MAT, 0), call(MAT, MAT, axisc=0),
       call(A(4, 1, 3), MAT), large=(call(A(20_000, 3), A(20_000, 3)),)),
    op("einsum", einsum, terms("...ik,...j->ij", (5, 2, 3), (5, 4)), terms("...i->i", (2, 3)),
       terms("...i,...i->", (2, 3), (1, 3)), terms("...ik,...j->ij", (2, 3), (4,)), terms("ij,jk->ik", (2, 3), (3, 4)), terms("ij,jk", (2, 3), (3, 4)),
       terms("ii", (3, 3)), terms("ii->i", (3, 3)), terms("ba", (2, 3)), terms("ij->", (2, 3)),
       terms("ij->j", (2, 3)), terms("ijj->i", (2, 3, 3)), terms("iji->j", (2, 3, 2)),
       terms("iij,jkk->k", (2, 2, 3), (3, 4, 4)), terms("i,j,k->kji", (2,), (3,), (2,)),
       terms("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)), terms("...i->...", (2, 3)),
       terms("i...,i...", (2, 3), (2, 3)), terms("i...j->j...i", (2, 3, 2)), terms("...", (2, 3)),
       terms("b...d,...de->b...e", (2, 3, 2), (3, 2, 2)), terms(",i->i", (), (3,)),
       terms(",", (), ()), terms("ij,ij->ij", (1, 3), (2, 3)), terms("ij,ij->", (2, 1), (2, 3)),
       terms("ij,ij->i", (2, 3), (2, 3)), terms("i,i", (3,), (3,)), terms("Ab,bA", (2, 3), (3, 2)),
       terms(" ij , k -> i ", (2, 3), (2,)), terms("ij,jk,kl->il", (2, 3), (3, 2), (2, 2)),
       terms("aij,bij->ab", (2, 3, 2), (3, 3, 2)), terms("ij,kl,mn->", (2, 2), (2, 2), (2, 2)),
       terms("nchw,c->nhw", (2, 3, 4, 5), (3,)), terms("dc,nchw->ndhw", (2, 3), (2, 3, 4, 5)),
       terms("ncdhw,dc->nhw", (2, 3, 2, 4, 5), (2, 3)), terms("abi,bai->ab", (2, 3, 4), (3, 2, 4)),
       terms("...i,...i->...", (5, 3, 4), (3, 4)), terms("bi,bi->b", (3, 0), (3, 0)),
       terms("nca,c->na", (0, 3, 16), (3,)), terms("ij,jk->ik", (0, 3), (3, 4)), terms("ij,jk->ik", (2, 0), (0, 4)),
       large=(terms("bij,bjk->bik", (9, 70, 60), (9, 60, 50)), terms("bi,bi->b", (9_000, 9), (9_000, 9)),
              terms("nchw,c->nhw", (9, 5, 40, 40), (5,)))),
)
# fmt: on

CASES = PRODUCTS
