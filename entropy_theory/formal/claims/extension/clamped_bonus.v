(** Extension of AEnt, section 4.1: a bonus on the clamped entropy never lowers the full entropy, to first
    order. The kept set holds the actions with pi_a >= floor max pi; the clamped entropy is that of the policy
    renormalized on it. *)

From Coq Require Import Reals Lra Lia List Bool.
From PolicyEntropy.library Require Import Definitions Basics Comparisons Contributions Extremes Clamping.
Open Scope R_scope.

Definition kept (n : nat) (z : vector) (floor : R) : mask :=
  fun a => negb (less (z a) (largest n z + ln floor)).

Theorem proved :
  forall (n : nat) (logits : vector) (floor : R),
  (1 <= n)%nat -> 0 < floor -> floor <= 1 ->
  0 <= sum n (fun a => own_covariance n logits a * clamped_tilt n logits (kept n logits floor) a).
Proof.
  intros n logits floor one positive small.
  assert (some : (0 < n)%nat) by lia.
  apply rate_nonneg.
  - destruct (largest_attained n logits some) as [a [inside top]]; exists a; split; [exact inside|].
    apply not_less; rewrite top.
    assert (nonpos : ln floor <= ln 1).
    { destruct small as [strict|same]; [apply Rlt_le, ln_increasing; assumption|rewrite same; lra]. }
    rewrite ln_1 in nonpos; lra.
  - intros a b _ _ a_kept b_removed.
    apply not_less in a_kept; apply negb_false_iff, is_less in b_removed; lra.
Qed.
