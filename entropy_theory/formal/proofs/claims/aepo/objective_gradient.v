(** AEPO, Section 3.1, as corrected: the printed gradient is that of the expected reward, for responses of any
    lengths; of the printed objective, E[|o| R], it is 1/h of the gradient where all responses with a reward
    above zero have the length h. *)

From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeGradients TreeDirections
  Comparisons ResponseLengths.
From Trusted.Statements.aepo Require objective_gradient.
Module Stated := Statements.aepo.objective_gradient.
Open Scope R_scope.

Lemma printed_gradient n h z reward s a :
  Stated.policy_update_without_temperature n h z (Stated.rewards n h z reward) s a
  = if running stop s then gradient_over_responses n h z (sum_along (reward_at_end h reward)) s a else 0.
Proof.
  unfold Stated.policy_update_without_temperature; fold stop; destruct (running stop s); [|reflexivity].
  rewrite total_through_probability; unfold gradient_over_responses; f_equal; f_equal.
  apply sum_ext; intros b _; apply total_through_probability.
Qed.

Theorem proved : Statements.aepo.objective_gradient.repair.
Proof.
  unfold Stated.repair; intros n h z reward several long nonneg small.
  assert (0 < n)%nat as some by lia.
  change (Stated.ending_reward n h z reward) with (reward_at_end h reward).
  split; intros s inside a a_inside.
  - rewrite printed_gradient; apply reward_gradient; [assumption|apply inside].
  - destruct (negb (less _ 0)) eqn:equal; [|reflexivity].
    apply not_less in equal; rewrite printed_gradient.
    rewrite <- reward_gradient_everywhere by (assumption || apply inside).
    set (R := sum_along (reward_at_end h reward)).
    set (L := Stated.longest n h z (Stated.rewards n h z reward)).
    pose proof (response_gradient_advantage n h z (fun y => R y * tokens y) s a some (proj1 inside))
      as of_objective.
    rewrite (response_gradient_scal n h z _ R L) in of_objective.
    + unfold advantage_at in of_objective.
      change (fun y => Stated.rewards n h z reward y * Stated.lengths n h z y)
        with (fun y => R y * tokens y).
      lra.
    + exact inside.
    + exact a_inside.
    + intros y response.
      destruct (Rle_lt_or_eq_dec 0 (R y) (reward_nonneg n h reward y response nonneg)) as [scored|none].
      * rewrite (one_length n h R tokens equal y response scored) at 1.
        change (R y * L = L * R y); ring.
      * rewrite <- none; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aepo.objective_gradient.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun _ => (fun a => match a with | 0%nat => 1 | _ => 0
    end)); witnessed.
Qed.
