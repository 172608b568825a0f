(** Extension of AEnt, section 4.1: a bonus on the clamped entropy never lowers the full entropy, to first
    order. The kept set holds the actions with pi_a >= floor max pi; the clamped entropy is that of the policy
    renormalized on it. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Contributions Masks Clamping Growth.
From Trusted.Statements.extension Require clamped_bonus.
Open Scope R_scope.

Definition kept (n : nat) (z : vector) (floor : R) : mask :=
  fun a => negb (less (z a) (largest n z + ln floor)).

Lemma some_kept n z floor : (0 < n)%nat -> 0 < floor -> floor <= 1 -> nonempty n (kept n z floor).
Proof.
  intros some positive small; destruct (largest_attained n z some) as [a [inside top]].
  exists a; split; [exact inside|]; apply not_less; rewrite top.
  assert (nonpos : ln floor <= ln 1).
  { destruct small as [strict|same]; [apply Rlt_le, ln_increasing; assumption|rewrite same; lra]. }
  rewrite ln_1 in nonpos; lra.
Qed.

Lemma kept_is_top n z floor a b :
  kept n z floor a = true -> kept n z floor b = false -> z b <= z a.
Proof.
  intros a_kept b_removed.
  apply not_less in a_kept; apply negb_false_iff, is_less in b_removed; lra.
Qed.

Theorem proved : Statements.extension.clamped_bonus.statement.
Proof.
  intros n logits floor two positive small.
  assert (some : (0 < n)%nat) by lia.
  pose proof (some_kept n logits floor some positive small) as members.
  split; [|split].
  - apply (rate_nonneg n logits (kept n logits floor) members).
    intros a b _ _; apply kept_is_top.
  - intros direction; apply (tilt_is_gradient n logits (kept n logits floor) direction members).
  - pose proof (first_order_is_derivative n logits
      (fun a => - clamped_tilt n logits (kept n logits floor) a) some) as rate.
    rewrite rate_is_first_order in rate by exact members.
    intros e e_positive; destruct (rate e e_positive) as [d close]; exists d; intros h nonzero near.
    specialize (close h nonzero near).
    assert (same : forall t, entropy n (fun a => logits a + t * - clamped_tilt n logits (kept n logits floor) a)
                     = entropy n (fun a => logits a - t * clamped_tilt n logits (kept n logits floor) a))
      by (intros; apply entropy_ext; intros; ring).
    rewrite !same in close; exact close.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.clamped_bonus.witness.
Proof. exists 2%nat, (fun _ => 0), (7 / 20); witnessed. Qed.

Theorem defined : Statements.extension.clamped_bonus.defined.
Proof.
  intros n logits floor two positive small.
  assert (forall z, 0 < total_on n (Statements.extension.clamped_bonus.top_set n logits floor) (softmax n z)) as mass.
  { intros z; apply total_on_pos; [apply some_kept; assumption || lia|intros; apply softmax_pos; lia]. }
  domains; apply nonzero_of_pos, mass.
Qed.
