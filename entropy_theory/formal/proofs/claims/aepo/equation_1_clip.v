(** AEPO, Eq. (1): with rewards 0 and 1 the clip of the REINFORCE term has an upper edge only. *)

From Coq Require Import Reals Lra.
From Trusted.Statements.aepo Require equation_1_clip.
Open Scope R_scope.

Theorem proved : Statements.aepo.equation_1_clip.statement.
Proof.
  intros ratio epsilon positive narrow.
  unfold Rmin, Rmax; repeat destruct (Rle_dec _ _); lra.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aepo.equation_1_clip.witness.
Proof. exists 1, (1 / 5); witnessed. Qed.
